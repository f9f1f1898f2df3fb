package partition_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// The legacy partition has no lower bound. It is dropped once it is beyond the retention, if the Set says how old its rows
// may be, and if it has no others.
func TestAdoptedPartitionIsDroppedByRetention(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, ordinaryTable)
	a.insert(day(-40), day(-30), 24*time.Hour)
	a.exec("INSERT INTO events VALUES (5)")
	without := a.newSet(partition.Day, partition.WithRetain(5), partition.WithIdle(5))
	set := a.newSet(partition.Day, partition.WithRetain(5), partition.WithIdle(5), partition.WithStart(day(-40)))
	a.adopt(set)
	a.does(set)
	// As if it had been adopted twenty days ago.
	a.exec(fmt.Sprintf("ALTER TABLE events DETACH PARTITION events_legacy;\n"+
		"ALTER TABLE events ATTACH PARTITION events_legacy FOR VALUES FROM (MINVALUE) TO ('%d')", idAt(day(-20))))
	a.maintain(a.newSet(partition.Day))
	a.insert(day(0), day(1), 24*time.Hour)
	a.fails(set, partition.ErrBlocked, "events_legacy", "the key 5")
	a.exec("DELETE FROM events WHERE id = 5")
	a.fails(without, partition.ErrBlocked, "events_legacy", "set WithStart")
	if steps := a.maintain(set); !slices.Contains(steps, "drop events_legacy") {
		t.Errorf("the steps are %q", steps)
	}
}

// The legacy partition is split by way of a default partition, whose rows are not read while the table is locked.
func TestAdoptedPartitionIsSplit(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, ordinaryTable)
	a.insert(day(-10), day(1), 6*time.Hour)
	set := a.newSet(partition.Day, partition.WithRetain(5))
	plan, err := set.PlanAdopt(t.Context(), a.DB)
	if dropped := "Maintain drops it as a whole, not before " + day(2+5).Format(time.DateOnly) + " 01:00"; err != nil || !strings.Contains(plan.String(), dropped) {
		t.Errorf("%v, %v, want %q", plan, err, dropped)
	}
	a.adopt(set)
	a.exec(fmt.Sprintf(`ALTER TABLE events_legacy ADD CONSTRAINT cut CHECK (id IS NOT NULL AND id < %d) NOT VALID;
ALTER TABLE events_legacy VALIDATE CONSTRAINT cut;
BEGIN; ALTER TABLE events DETACH PARTITION events_legacy; ALTER TABLE events ATTACH PARTITION events_legacy DEFAULT; COMMIT;
`, idAt(day(2))))
	if moved, err := set.MoveDefault(t.Context(), a.DB, 3); moved != 6*4 || !errors.Is(err, partition.ErrBlocked) {
		t.Errorf("%d rows moved, %v, want those of six days, and a problem about older ones", moved, err)
	}
	a.counts(5*4, "SELECT count(*) FROM events_legacy WHERE id < $1", idAt(day(-5)))
	a.exec("ALTER TABLE events DETACH PARTITION events_legacy;\nDROP TABLE events_legacy;\n")
	if steps, err := a.newSet(partition.Day, partition.WithRetain(4)).Maintain(t.Context(), a.DB); err != nil || len(steps) != 3 {
		t.Errorf("%v, %v, want tomorrow created and the two pieces of the oldest day dropped", kinds(steps), err)
	}
	a.counts(5*4, "SELECT count(*) FROM events")
}

func (e *events) mysqlPartitions() []string {
	e.Helper()
	e.exec("ANALYZE TABLE events")
	return e.texts(`SELECT CONCAT(PARTITION_NAME, ' ', TABLE_ROWS) FROM information_schema.PARTITIONS
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'events' AND PARTITION_NAME IS NOT NULL ORDER BY PARTITION_ORDINAL_POSITION`)
}

func TestAdoptRewritesOnMySQL(t *testing.T) {
	for _, withDefault := range []bool{false, true} {
		e := onMariaDB(t, "CREATE TABLE events (id bigint NOT NULL, body text, n int DEFAULT 1, PRIMARY KEY (id), UNIQUE (n, id), KEY (n)) COMMENT 'all'")
		e.insert(day(-5), day(1), 24*time.Hour)
		e.exec("INSERT INTO events (id) VALUES (5), (-5)")
		options := []partition.Option{partition.WithStart(day(-2)), partition.WithRetain(2)} // Maintain would drop the legacy partition
		want := []string{"events_legacy 5", dayName(-2) + " 1", dayName(-1) + " 1", dayName(0) + " 1", dayName(1) + " 0", dayName(2) + " 0", dayName(3) + " 0"}
		if withDefault {
			e.insert(day(30), day(31), 24*time.Hour)
			if plan, err := e.set().PlanAdopt(t.Context(), e.DB); err != nil || len(plan.Problems) != 1 || !strings.Contains(plan.Problems[0].Error(), "after the last partition") {
				t.Errorf("without a default partition: %v, %v", plan, err)
			}
			options = append(options, partition.WithDefault())
			want = append(want, "events_default 1")
		}
		set := e.set(options...)
		plan, err := set.PlanAdopt(t.Context(), e.DB)
		if err != nil || len(plan.Problems) > 0 || len(plan.Steps) != 1 {
			t.Fatalf("plan %v, %v", plan, err)
		}
		dropped := "events_legacy: Maintain drops it as a whole, not before " + day(0).Format(time.DateOnly) + " 01:00"
		if s := plan.Steps[0]; s.Action != "rewrite" || s.Bytes == 0 || !strings.Contains(s.Why, "blocks writers") || !strings.Contains(s.Why, dropped) {
			t.Errorf("plan %+v, want %q", s, dropped)
		}
		e.same(e.mysqlPartitions())
		e.same(kinds(e.adopt(set)), "rewrite ")
		e.same(e.mysqlPartitions(), want...)
		e.same(kinds(e.adopt(set)))
		e.blocked(set, "events_legacy: it is beyond the retention, but has a row with the key -5")
	}
}

// A table that is created with the options is one that Maintain accepts as it is.
func TestTableOptionsFitMaintain(t *testing.T) {
	for _, options := range [][]partition.Option{nil, {partition.WithDefault()}, {partition.WithStart(day(-9)), partition.WithRetain(3)}} {
		e := onMariaDB(t, "")
		set := e.set(options...)
		text, err := set.TableOptions()
		e.must(err)
		e.exec("CREATE TABLE events (id bigint PRIMARY KEY) " + text)
		e.does(set)
	}
	e := newEvents(t, testdb.Postgres(t), "")
	set := e.set(partition.WithKey("the Key"))
	text, err := set.TableOptions()
	e.must(err)
	e.exec(`CREATE TABLE events ("the Key" bigint PRIMARY KEY) ` + text)
	e.does(set, "create "+dayName(0), "create "+dayName(1), "create "+dayName(2), "create "+dayName(3))
}

func TestAdoptRefusesOnMySQL(t *testing.T) {
	for _, c := range []struct{ statements, want string }{
		{"CREATE TABLE events (id bigint NOT NULL, n int PRIMARY KEY)", "PRIMARY"},
		{"CREATE TABLE events (id bigint PRIMARY KEY, n int, UNIQUE one (n))", "one"},
		{"CREATE TABLE kinds (id bigint PRIMARY KEY);\nCREATE TABLE events (id bigint PRIMARY KEY, n bigint, CONSTRAINT fk FOREIGN KEY (n) REFERENCES kinds (id))", "fk of the table events"},
		{"CREATE TABLE events (id bigint PRIMARY KEY);\nCREATE TABLE others (n bigint, CONSTRAINT fk FOREIGN KEY (n) REFERENCES events (id))", "fk of the table others"},
		{"CREATE TABLE events (id bigint AUTO_INCREMENT PRIMARY KEY)", "AUTO_INCREMENT"},
		{"CREATE TABLE events (id bigint PRIMARY KEY, t text, FULLTEXT words (t))", "words"},
		{"CREATE TABLE events (id bigint)", "NULL"},
	} {
		onMariaDB(t, c.statements).refuses(c.want)
	}
}
