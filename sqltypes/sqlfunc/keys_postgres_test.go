package sqlfunc_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// The bounds and times are called as pg_partman calls its encoder and decoder: the key is text, a literal of no type or
// a column.
func TestPostgresKeysHaveTheBoundsAndTimesOfTheirIDs(t *testing.T) {
	db := openPostgres(t)
	for name, layout := range layouts(t, 20) {
		t.Run(name, func(t *testing.T) {
			db.install(t, layout, sqlfunc.WithName(name))
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
			for _, at := range timesOf(layout, 30) {
				if postgresHas(layout, at) {
					compareKeyBounds(t, db, name, layout, at)
				}
			}
			var ids []int64
			for _, id := range idsOf(t, layout, 100) {
				if postgresHas(layout, layout.Time(snowflake.ID(id))) {
					ids = append(ids, id)
				}
			}
			compareKeyTimes(t, db, name, layout, ids)
		})
	}
}

func TestPostgresKeysOfAnyCollationHaveTimes(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default())
	if _, err := db.ExecContext(t.Context(), "CREATE COLLATION fuzzy (provider = icu, locale = 'und', deterministic = false)"); err != nil {
		t.Skip(err) // a server without ICU
	}
	id := snowflake.ID(1 << 60)
	for _, kind := range []string{"uuid", "text"} {
		got := scan[time.Time](t, db, fmt.Sprintf(`SELECT snowflake_%s_time('%s' COLLATE fuzzy)`, kind, keyText(t, kind, id)))
		if want := snowflake.Default().Time(id); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
}

func compareKeyBounds(t *testing.T, db server, name string, layout snowflake.Layout, at time.Time) {
	t.Helper()
	bound, wantErr := layout.MinAt(at)
	literal := at.UTC().Format("2006-01-02 15:04:05.999999+00")
	for _, kind := range []string{"uuid", "text"} {
		var got string
		err := db.QueryRowContext(t.Context(), "SELECT "+name+"_"+kind+"_min('"+literal+"')").Scan(&got)
		if wantErr != nil {
			if sqlState(err) != "22008" {
				t.Errorf("%s of %s: %s, %v, want SQLSTATE 22008", kind, literal, got, err)
			}
			continue
		}
		if want := keyText(t, kind, bound); got != want || err != nil {
			t.Errorf("%s of %s: %s, %v, want %s", kind, literal, got, err, want)
		}
	}
}

func compareKeyTimes(t *testing.T, db server, name string, layout snowflake.Layout, ids []int64) {
	t.Helper()
	var uuids, texts []string
	for _, id := range ids {
		uuids = append(uuids, keyText(t, "uuid", snowflake.ID(id)))
		texts = append(texts, keyText(t, "text", snowflake.ID(id)))
	}
	rows, err := db.QueryContext(t.Context(), fmt.Sprintf(`SELECT number, %[1]s_uuid_time(uuid::text), %[1]s_text_time(text)
		FROM unnest($1::bigint[], $2::uuid[], $3::text[]) AS keys (number, uuid, text)`, name), ids, uuids, texts)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	read := 0
	for ; rows.Next(); read++ {
		var id snowflake.ID
		var ofUUID, ofText time.Time
		if err := rows.Scan(&id, &ofUUID, &ofText); err != nil {
			t.Fatal(err)
		}
		want := layout.Time(id)
		want = want.Add(-time.Duration(want.Nanosecond() % 1000))
		if !ofUUID.Equal(want) || !ofText.Equal(want) {
			t.Errorf("time of %d: %v as UUID, %v as text, want %v", id, ofUUID.UTC(), ofText.UTC(), want)
		}
	}
	if err := rows.Err(); err != nil || read != len(ids) {
		t.Fatalf("%d of %d rows, %v", read, len(ids), err)
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
func TestPostgresKeysWithoutAnIDAreErrors(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default())
	const id = 153652455014400000
	uuid, text := keyText(t, "uuid", id), keyText(t, "text", id)
	for kind, keys := range map[string][]string{
		"uuid": {
			"", "x", text, "00000000-0000-0000-0000-000000000000", "0222e0dc-6bc0-7000-8200-000000000000",
			"0222e0dc-6bc0-8000-0200-000000000000", "0222e0dc-6bc0-8000-8000-000000000000",
			"0222e0dc-6bc0-8000-8300-000000000000", "0222e0dc-6bc0-8000-8201-000000000000",
			"0222e0dc-6bc0-8000-8200-000000000001", uuid + "0",
		},
		"text": {
			"", "x", uuid, text[:12], text + "0", text + "\n", " " + text, "G000000000000", "000000000000I", "000000000000O",
			"000000000000L", "000000000000U", "000000000000a", "-000000000001", "000000000000é",
		},
	} {
		for _, key := range keys {
			_, err := db.ExecContext(t.Context(), "SELECT snowflake_"+kind+"_time($1)", key)
			if sqlState(err) != "22P02" {
				t.Errorf("%s %q: %v, want SQLSTATE 22P02", kind, key, err)
			}
			var target sql.Scanner = new(sqltypes.Text)
			if kind == "uuid" {
				target = new(uuidkey.ID)
			}
			if target.Scan(key) == nil {
				t.Errorf("%s %q: Go reads it", kind, key)
			}
		}
	}
	want := snowflake.Default().Time(id)
	if at := scan[time.Time](t, db, "SELECT snowflake_uuid_time($1)", strings.ToUpper(uuid)); !at.Equal(want) {
		t.Errorf("in upper case: %v, want %v", at, want)
	}
}
