package sqltypes_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// pgxModes are all ways in which pgx runs a query, by their names in a DSN. The last two are those for PgBouncer.
var pgxModes = []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}

// eachPgxMode runs f in a schema of PostgreSQL, with a DSN for each mode.
func eachPgxMode(t *testing.T, f func(t *testing.T, target testdb.Target)) {
	t.Helper()
	for _, mode := range pgxModes {
		t.Run(mode, func(t *testing.T) {
			target := testdb.Postgres(t)
			target.DSN += "&default_query_exec_mode=" + mode
			f(t, target)
		})
	}
}

func TestArrayRoundTripsThroughDatabaseSQL(t *testing.T) {
	eachPgxMode(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		db.mustExec(t, "CREATE TABLE lists (key int, ids bigint[])")
		for key, test := range someArrays {
			db.mustExec(t, "INSERT INTO lists VALUES (?, ?)", key, test.array)
			got := staleArray()
			if err := db.scanOne(t, &got, "SELECT ids FROM lists WHERE key = ?", key); !sameArray(got, test.array) || err != nil {
				t.Errorf("%#v was read back as %#v, %v", test.array, got, err)
			}
			var text string
			err := db.scanOne(t, &text, "SELECT COALESCE(ids::text, '') FROM lists WHERE key = ?", key)
			if text != test.text || err != nil {
				t.Errorf("%#v was stored as %q, %v, want %q", test.array, text, err, test.text)
			}
		}
	})
}

func TestArrayIsAParameterOfANY(t *testing.T) {
	eachPgxMode(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		for _, query := range []string{
			"SELECT COALESCE(array_agg(id ORDER BY id), '{}') FROM items WHERE id = ANY(?)",
			"SELECT COALESCE(array_agg(id ORDER BY id), '{}') FROM items JOIN unnest(?::bigint[]) AS wanted(id) USING (id)",
		} {
			db.mustExec(t, "DROP TABLE IF EXISTS items")
			db.mustExec(t, "CREATE TABLE items (id bigint)")
			db.mustExec(t, "INSERT INTO items VALUES (9007199254740992), (9007199254740993), (9007199254740994)")
			for _, test := range []struct{ wanted, want sqltypes.Array }{
				{sqltypes.Array{9007199254740993, 9007199254740994, 5}, sqltypes.Array{9007199254740993, 9007199254740994}},
				{sqltypes.Array{}, sqltypes.Array{}},
				{nil, sqltypes.Array{}},
			} {
				var got sqltypes.Array
				if err := db.scanOne(t, &got, query, test.wanted); !sameArray(got, test.want) || err != nil {
					t.Errorf("%s of %v = %#v, %v, want %v", query, test.wanted, got, err, test.want)
				}
			}
		}
	})
}

func TestArrayReadsWhatPostgreSQLMakes(t *testing.T) {
	eachPgxMode(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		for query, want := range map[string]sqltypes.Array{
			"SELECT array_agg(n) FROM generate_series(1, 3) AS n":         {1, 2, 3},
			"SELECT '[2:3]={1,2}'::bigint[]":                              {1, 2},
			"SELECT ARRAY[1,2]::int[]":                                    {1, 2},
			"SELECT ARRAY[-1,2]::smallint[]":                              {-1, 2},
			"SELECT ARRAY['9007199254740993']::text[]":                    {9007199254740993},
			"SELECT ARRAY['9007199254740993']::varchar(20)[]":             {9007199254740993},
			"SELECT array_remove(ARRAY[1,NULL,2]::bigint[], NULL)":        {1, 2},
			"SELECT (ARRAY[1,NULL,2]::bigint[])[3:3]":                     {2},
			"SELECT array_replace(ARRAY[1,NULL]::bigint[], NULL, 0)":      {1, 0},
			"SELECT ARRAY[]::bigint[]":                                    {},
			"SELECT NULL::bigint[]":                                       nil,
			"SELECT array_agg(n) FROM generate_series(1, 0) AS n":         nil,
			"SELECT (ARRAY[1,2]::bigint[])[5:6]":                          {},
			"SELECT array_agg(n::bigint) FROM generate_series(1, 1) AS n": {1},
		} {
			got := staleArray()
			if err := db.scanOne(t, &got, query); !sameArray(got, want) || err != nil {
				t.Errorf("%s: read %#v, %v, want %#v", query, got, err, want)
			}
		}
		for query, want := range map[string]error{
			"SELECT ARRAY[1,NULL]::bigint[]":                   snowflake.ErrNull,
			"SELECT ARRAY[NULL]::bigint[]":                     snowflake.ErrNull,
			"SELECT ARRAY[[1,2],[3,4]]::bigint[]":              snowflake.ErrType,
			"SELECT '[1:1][2:3]={{1,2}}'::bigint[]":            snowflake.ErrType,
			"SELECT ARRAY['a']::text[]":                        snowflake.ErrSyntax,
			"SELECT ARRAY['', '1']::text[]":                    snowflake.ErrSyntax,
			"SELECT ARRAY['007']::text[]":                      snowflake.ErrSyntax,
			"SELECT ARRAY['9223372036854775808']::text[]":      snowflake.ErrRange,
			"SELECT '{}'::text":                                nil,
			"SELECT 1::bigint":                                 snowflake.ErrType,
			"SELECT '[1, 2]'::json::text":                      snowflake.ErrSyntax,
			"SELECT ARRAY[true]::boolean[]":                    snowflake.ErrSyntax,
			"SELECT ARRAY['2026-01-02']::date[]":               snowflake.ErrSyntax,
			"SELECT ARRAY[1.5]::float8[]":                      snowflake.ErrSyntax,
			"SELECT ARRAY[9223372036854775808]::numeric(20)[]": snowflake.ErrRange,
		} {
			got := staleArray()
			err := db.scanOne(t, &got, query)
			if want == nil && sameArray(got, sqltypes.Array{}) && err == nil {
				continue
			}
			if got != nil || want == nil || !errors.Is(err, want) {
				t.Errorf("%s: read %#v, %v, want nil and %v", query, got, err, want)
			}
		}
	})
}

func TestArrayIsResetFromRowToRow(t *testing.T) {
	eachPgxMode(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		rows, err := db.QueryContext(t.Context(),
			"SELECT ids FROM (VALUES (1, '{1,2}'::bigint[]), (2, NULL), (3, '{}'), (4, '{3}')) AS lists(n, ids) ORDER BY n")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var all []sqltypes.Array
		array := staleArray()
		for rows.Next() {
			if err := rows.Scan(&array); err != nil {
				t.Fatal(err)
			}
			all = append(all, array)
		}
		want := []sqltypes.Array{{1, 2}, nil, {}, {3}}
		if !slices.EqualFunc(all, want, sameArray) || rows.Err() != nil {
			t.Errorf("rows %#v, %v, want %#v", all, rows.Err(), want)
		}
	})
}

// The condition that stands for = ANY on each database without arrays, as the comment of JSONNumbers has it.
var inJSON = map[string]string{
	"sqlite":  "id IN (SELECT value FROM json_each(?))",
	"mariadb": "id IN (SELECT id FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS ids)",
}

func TestJSONNumbersStandForAnArrayWhereThereIsNone(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		condition, ok := inJSON[target.Name]
		if !ok {
			t.Skip("it has arrays")
		}
		db := openDatabase(t, target)
		db.mustExec(t, "CREATE TABLE ids (id bigint)")
		for _, id := range databaseIDs {
			db.mustExec(t, "INSERT INTO ids VALUES (?)", id)
		}
		db.mustExec(t, "INSERT INTO ids VALUES (9007199254740992), (9223372036854775806), (NULL)")
		// SQLite knows no type of an expression, which matters to how it compares.
		for _, from := range []string{"ids", "(SELECT id + 0 AS id FROM ids) AS computed"} {
			for _, wanted := range []sqltypes.Array{nil, {}, {5}, {9007199254740993}, databaseIDs} {
				got := db.scanAll(t, "SELECT id FROM "+from+" WHERE "+condition, wanted.JSONNumbers())
				want := slices.DeleteFunc(slices.Clone(databaseIDs), func(id snowflake.ID) bool { return !slices.Contains(wanted, id) })
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s: %v found %v, want %v", from, wanted, got, want)
				}
			}
		}
	})
}

// scanAll reads the only column of a query.
func (db database) scanAll(t *testing.T, query string, args ...any) []snowflake.ID {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), db.query(query), args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var ids []snowflake.ID
	for rows.Next() {
		var id snowflake.ID
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}
