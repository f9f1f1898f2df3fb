package partition

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestBadSettingsAreRejected(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	field := func(name string, bits int) snowflake.Field { return snowflake.Field{Name: name, Bits: bits} }
	shardFirst := snowflake.MustLayout(time.Unix(0, 0), time.Millisecond, field("shard", 4), field("time", 41), field("sequence", 10))
	for _, c := range []struct {
		name    string
		dialect sqldb.Dialect
		table   string
		unit    Unit
		options []Option
		want    error
		text    string
	}{
		{"SQLite", sqldb.SQLite, "t", Day, nil, ErrOption, "sqlite"},
		{"no table", sqldb.MySQL, "", Day, nil, ErrOption, "1 to 6"},
		{"no schema", sqldb.MySQL, ".t", Day, nil, ErrOption, ".t"},
		{"no table in a schema", sqldb.MySQL, "s.", Day, nil, ErrOption, "1 to 6"},
		{"three parts", sqldb.Postgres, "a.b.c", Day, nil, ErrOption, "a.b.c"},
		{"zero byte", sqldb.Postgres, "a\x00", Day, nil, ErrOption, "a\\x00"},
		{"no UTF-8", sqldb.Postgres, "a\xff", Day, nil, ErrOption, "a\\xff"},
		{"long name", sqldb.Postgres, strings.Repeat("a", 64), Day, nil, ErrOption, "63 bytes"},
		{"long name on MySQL", sqldb.MySQL, strings.Repeat("a", 65), Day, nil, ErrOption, "64 bytes"},
		{"no unit", sqldb.Postgres, "t", 0, nil, ErrOption, "unit 0"},
		{"negative unit", sqldb.Postgres, "t", Unit(-5), nil, ErrOption, "-5"},
		{"unit below a tick", sqldb.Postgres, "t", Unit(time.Millisecond - 1), nil, ErrOption, "1ms"},
		{"unit below a period", sqldb.Postgres, "t", Unit(time.Hour), []Option{WithLayout(snowflake.Clustered())}, ErrOption, "1h9m54.304s"},
		{"hours of a zone", sqldb.Postgres, "t", Unit(time.Hour), []Option{WithZone(berlin)}, ErrOption, "Europe/Berlin"},
		{"nil", sqldb.Postgres, "t", Day, []Option{nil}, ErrOption, "nil"},
		{"shard first", sqldb.Postgres, "t", Day, []Option{WithLayout(shardFirst)}, snowflake.ErrFieldOrder, "shard time sequence"},
		{"no layout", sqldb.Postgres, "t", Day, []Option{WithLayout(snowflake.Layout{})}, snowflake.ErrLayout, "the table t"},
		{"no key", sqldb.Postgres, "t", Day, []Option{WithKey("")}, ErrOption, "WithKey"},
		{"no zone", sqldb.Postgres, "t", Day, []Option{WithZone(nil)}, ErrOption, "WithZone"},
		{"none ahead", sqldb.Postgres, "t", Day, []Option{WithAhead(0)}, ErrOption, "[1, 1000]"},
		{"far ahead", sqldb.Postgres, "t", Day, []Option{WithAhead(1001)}, ErrOption, "1001"},
		{"none retained", sqldb.Postgres, "t", Day, []Option{WithRetain(0)}, ErrOption, "all partitions are kept"},
		{"many retained", sqldb.Postgres, "t", Day, []Option{WithRetain(100_001)}, ErrOption, "100001"},
		{"short grace", sqldb.Postgres, "t", Day, []Option{WithGrace(time.Minute - 1)}, ErrOption, "59.999999999s"},
		{"no start", sqldb.Postgres, "t", Day, []Option{WithStart(time.Time{})}, ErrOption, "WithStart"},
		{"no names", sqldb.Postgres, "t", Day, []Option{WithNames(nil)}, ErrOption, "WithNames"},
		{"no lock timeout", sqldb.Postgres, "t", Day, []Option{WithLockTimeout(0)}, ErrOption, "[1ms, 1m]"},
		{"long lock timeout", sqldb.Postgres, "t", Day, []Option{WithLockTimeout(time.Minute + 1)}, ErrOption, "1m0.000000001s"},
		{"no patience", sqldb.Postgres, "t", Day, []Option{WithPatience(-1)}, ErrOption, "-1ns"},
		{"no rename", sqldb.Postgres, "t", Day, []Option{WithKeep(nil)}, ErrOption, "Keep"},
		{"no archive", sqldb.Postgres, "t", Day, []Option{WithArchive(nil)}, ErrOption, "Archive"},
		{"Keep and Archive", sqldb.Postgres, "t", Day, []Option{WithKeep(strings.ToUpper), WithArchive(archiveNothing)}, ErrOption, "Archive"},
		{"no logger", sqldb.Postgres, "t", Day, []Option{WithLogger(nil)}, ErrOption, "WithLogger"},
	} {
		s, err := New(c.dialect, c.table, c.unit, c.options...)
		if s != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, %v, want %v with %q", c.name, s, err, c.want, c.text)
		}
	}
}

func TestUnusableNamesOfPartitionsAreErrors(t *testing.T) {
	for _, text := range []string{"", strings.Repeat("n", 64), "a\x00b", "a\xff"} {
		s := mustSet(t, Day, WithNames(func(time.Time) string { return text }))
		_, err := makePlan(s, &state{now: date("2026-05")}, date("2026-05"), (&catalog{}).probe())
		if !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), fmt.Sprintf("%d bytes, want 1 to 63", len(text))) {
			t.Errorf("%q: %v, want %v", text, err, ErrOption)
		}
	}
	long := strings.Repeat("t", 46)
	for table, want := range map[string]string{
		"t": "t_legacy", long + strings.Repeat("t", 14): long + "t_1101f03e_legacy", long + "ä" + strings.Repeat("ö", 6): long + "_29ea1b1e_legacy",
	} {
		if s, err := New(sqldb.Postgres, table, Month); err != nil || s.legacyName() != want {
			t.Errorf("%s: %s, %v, want %s", table, s.legacyName(), err, want)
		}
	}
}

// MoveDefault locks them in this order too, so that the calls for two tables with the same parents do not lock them
// crosswise.
func TestParentsAreLockedInTheOrderOfTheirNames(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	if _, err := db.Exec(`CREATE TABLE a (id bigint PRIMARY KEY);
CREATE TABLE b (id bigint PRIMARY KEY);
CREATE TABLE child (a bigint REFERENCES a, b bigint REFERENCES b)`); err != nil {
		t.Fatal(err)
	}
	locks, err := relatedLocks(t.Context(), db, "child", 2)
	if err != nil || len(locks) != 3 || !strings.HasSuffix(locks[0].table, ".a") || !strings.HasSuffix(locks[1].table, ".b") {
		t.Errorf("%v, %v; want a, b and child", locks, err)
	}
}
