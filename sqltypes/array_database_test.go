package sqltypes_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// eachPgxProtocol runs f in a schema of PostgreSQL that sends arrays in the binary form, and in one that sends text. The
// package internal/compat/conformance has all modes of pgx.
func eachPgxProtocol(t *testing.T, f func(t *testing.T, target testdb.Target)) {
	t.Helper()
	for _, mode := range []string{"cache_statement", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			target := testdb.Postgres(t)
			target.DSN += "&default_query_exec_mode=" + mode
			f(t, target)
		})
	}
}

func TestArrayReadsWhatPostgreSQLReturns(t *testing.T) {
	eachPgxProtocol(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		for query, want := range map[string]idArray{
			"SELECT array_agg(n) FROM generate_series(1, 3) AS n": {1, 2, 3},
			"SELECT '[2:3]={1,2}'::bigint[]":                      {1, 2},
			"SELECT ARRAY[1,2]::int[]":                            {1, 2},
			"SELECT ARRAY[-1,2]::smallint[]":                      {-1, 2},
			"SELECT ARRAY['9007199254740993']::text[]":            {9007199254740993},
			"SELECT ARRAY['9007199254740993']::varchar(20)[]":     {9007199254740993},
			"SELECT (ARRAY[1,NULL,2]::bigint[])[3:3]":             {2},
			"SELECT ARRAY[]::bigint[]":                            {},
			"SELECT NULL::bigint[]":                               nil,
			"SELECT array_agg(n) FROM generate_series(1, 0) AS n": nil,
		} {
			got := staleArray()
			if err := db.scanOne(t, &got, query); !sameArray(got, want) || err != nil {
				t.Errorf("%s: read %#v, %v, want %#v", query, got, err, want)
			}
		}
		for query, want := range map[string]error{
			"SELECT ARRAY[1,NULL]::bigint[]":                   snowflake.ErrNull,
			"SELECT ARRAY[[1,2],[3,4]]::bigint[]":              snowflake.ErrType,
			"SELECT '[1:1][2:3]={{1,2}}'::bigint[]":            snowflake.ErrType,
			"SELECT ARRAY['', '1']::text[]":                    snowflake.ErrSyntax,
			"SELECT ARRAY['007']::text[]":                      snowflake.ErrSyntax,
			"SELECT ARRAY['9223372036854775808']::text[]":      snowflake.ErrRange,
			"SELECT 1::bigint":                                 snowflake.ErrType,
			"SELECT '[1, 2]'::json::text":                      snowflake.ErrSyntax,
			"SELECT ARRAY[true]::boolean[]":                    snowflake.ErrSyntax,
			"SELECT ARRAY['2026-01-02']::date[]":               snowflake.ErrSyntax,
			"SELECT ARRAY[1.5]::float8[]":                      snowflake.ErrSyntax,
			"SELECT ARRAY[9223372036854775808]::numeric(20)[]": snowflake.ErrRange,
		} {
			got := staleArray()
			if err := db.scanOne(t, &got, query); got != nil || !errors.Is(err, want) {
				t.Errorf("%s: read %#v, %v, want nil and %v", query, got, err, want)
			}
		}
	})
}

type team struct {
	ID      snowflake.ID
	Members idArray
}

func TestArrayIsABigintArrayColumnInGORM(t *testing.T) {
	db, log := openGORM(t, testdb.Postgres(t), &team{})
	wantNoMigration(t, db, log, &team{})
	columns, err := db.Migrator().ColumnTypes(&team{})
	if err != nil {
		t.Fatal(err)
	}
	if name, _ := columns[1].ColumnType(); name != "bigint[]" {
		t.Errorf("the column is a %s, want bigint[]", name)
	}
	var teams, got []team
	for i, test := range someArrays {
		teams = append(teams, team{ID: snowflake.ID(i + 1), Members: test.array})
	}
	noError(t, db.Create(&teams))
	noError(t, db.Order("id").Find(&got))
	if !reflect.DeepEqual(got, teams) { // nil and empty differ
		t.Errorf("%#v was read back as %#v", teams, got)
	}
}
