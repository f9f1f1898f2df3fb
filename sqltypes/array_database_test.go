package sqltypes_test

import (
	"errors"
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
	eachPgxProtocol(t, func(t *testing.T, target testdb.Target) {
		db, _ := openGORM(t, target, &team{})
		if err := db.AutoMigrate(&team{}); err != nil { // changes nothing
			t.Fatal(err)
		}
		var columnType string
		err := db.Raw(`SELECT format_type(atttypid, atttypmod) FROM pg_attribute
			WHERE attrelid = 'teams'::regclass AND attname = 'members'`).Scan(&columnType).Error
		if columnType != "bigint[]" || err != nil {
			t.Errorf("the column is a %s, %v, want bigint[]", columnType, err)
		}
		var teams []team
		for i, test := range someArrays {
			teams = append(teams, team{ID: snowflake.ID(i + 1), Members: test.array})
		}
		if err := db.Create(&teams).Error; err != nil {
			t.Fatal(err)
		}
		var got []team
		if err := db.Order("id").Find(&got).Error; err != nil || len(got) != len(teams) {
			t.Fatalf("read %v, %v", got, err)
		}
		for i := range got {
			if !sameArray(got[i].Members, teams[i].Members) {
				t.Errorf("%#v was read back as %#v", teams[i].Members, got[i].Members)
			}
		}
	})
}
