package sqlfunc_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// compareKeys compares bounds and times of keys with those of their IDs. They are called as pg_partman calls its encoder
// and decoder: the key is text, a literal of no type or a column.
func compareKeys(t *testing.T, db server, layout snowflake.Layout, name string) {
	t.Helper()
	ordered := layout.Fields()[0].Name == snowflake.FieldTime
	want := 0
	if ordered {
		want = 4
	}
	if got := scan[int](t, db, `SELECT count(*) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
		AND proname ~ ('^' || $1 || '_(uuid|text)_(min|time)$')`, name); got != want {
		t.Fatalf("%d functions for keys, want %d", got, want)
	}
	if !ordered {
		return
	}
	for _, kind := range []string{"uuid", "text"} {
		for _, at := range timesOf(layout, 20) {
			bound, err := layout.MinAt(at)
			query := fmt.Sprintf("SELECT %s_%s_min('%s')::text", name, kind, at.Format("2006-01-02 15:04:05.999999+00"))
			switch {
			case !db.holds(layout, at):
			case err != nil:
				db.fails(t, db, query, "22008", "")
			default:
				if got := scan[string](t, db, query); got != keyText(t, kind, bound) {
					t.Errorf("%s: %s, want %s", query, got, keyText(t, kind, bound))
				}
			}
		}
		for _, id := range idsOf(layout, 20) {
			id := snowflake.ID(id)
			if at := layout.Time(id); db.holds(layout, at) && (kind == "text" || id >= 0) {
				got := scan[time.Time](t, db, "SELECT "+name+"_"+kind+"_time('"+keyText(t, kind, id)+"')")
				if !got.Equal(floor(at)) {
					t.Errorf("%s of %d: %v, want %v", kind, id, got, at)
				}
			}
		}
	}
}

// keyText returns what sqltypes writes into the column.
func keyText(t *testing.T, kind string, id snowflake.ID) string {
	t.Helper()
	value, err := sqltypes.Text(id).Value()
	if kind == "uuid" {
		value, err = uuidkey.ID(id).Value()
	}
	if err != nil {
		t.Fatal(err)
	}
	return value.(string)
}

// A key that holds no ID has no time, as it has no ID in Go.
func TestPostgresKeysOfAnyCollationHaveTimesAndOthersAreErrors(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default())
	const id = 153652455014400000
	uuid, text := keyText(t, "uuid", id), keyText(t, "text", id)
	for kind, keys := range map[string][]string{
		"uuid": {
			"", "x", text, "00000000-0000-0000-0000-000000000000", "0222e0dc-6bc0-7000-8200-000000000000",
			"0222e0dc-6bc0-8000-0200-000000000000", "0222e0dc-6bc0-8000-8000-000000000000",
			"0222e0dc-6bc0-8000-8300-000000000000", "0222e0dc-6bc0-8000-8201-000000000000",
			"0222e0dc-6bc0-8000-8200-000000000001", uuid + "0", "8222e0dc-6bc0-8000-8200-000000000000",
		},
		"text": {
			"", "x", uuid, text[:12], text + "0", text + "\n", " " + text, "G000000000000", "000000000000I", "000000000000O",
			"000000000000L", "000000000000U", "000000000000a", "-000000000001", "000000000000é",
		},
	} {
		for _, key := range keys {
			db.fails(t, db, "SELECT snowflake_"+kind+"_time('"+key+"')", "22P02", "")
			var target sql.Scanner = new(sqltypes.Text)
			if kind == "uuid" {
				target = new(uuidkey.ID)
			}
			if target.Scan(key) == nil {
				t.Errorf("%s %q: Go reads it", kind, key)
			}
		}
	}
	db.exec(t, "CREATE COLLATION fuzzy (provider = icu, locale = 'und', deterministic = false)")
	want := snowflake.Default().Time(id)
	for _, call := range []string{
		"uuid_time('" + strings.ToUpper(uuid) + "')", "uuid_time('" + uuid + "' COLLATE fuzzy)", "text_time('" + text + "' COLLATE fuzzy)",
	} {
		if at := scan[time.Time](t, db, "SELECT snowflake_"+call); !at.Equal(want) {
			t.Errorf("%s: %v, want %v", call, at, want)
		}
	}
}
