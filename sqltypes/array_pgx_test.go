package sqltypes_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// eachNativePgx runs f on a connection without database/sql, in each mode. Such a connection hands over binary images
// where it can.
func eachNativePgx(t *testing.T, f func(t *testing.T, conn *pgx.Conn)) {
	t.Helper()
	eachPgxMode(t, func(t *testing.T, target testdb.Target) {
		conn, err := pgx.Connect(t.Context(), target.DSN)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := conn.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		f(t, conn)
	})
}

func TestArrayRoundTripsThroughNativePgx(t *testing.T) {
	eachNativePgx(t, func(t *testing.T, conn *pgx.Conn) {
		if _, err := conn.Exec(t.Context(), "CREATE TABLE lists (key int, ids bigint[])"); err != nil {
			t.Fatal(err)
		}
		for key, test := range someArrays {
			if _, err := conn.Exec(t.Context(), "INSERT INTO lists VALUES ($1, $2)", key, test.array); err != nil {
				t.Fatalf("%#v: %v", test.array, err)
			}
			got := staleArray()
			err := conn.QueryRow(t.Context(), "SELECT ids FROM lists WHERE key = $1", key).Scan(&got)
			if !sameArray(got, test.array) || err != nil {
				t.Errorf("%#v was read back as %#v, %v", test.array, got, err)
			}
			var text *string
			err = conn.QueryRow(t.Context(), "SELECT ids::text FROM lists WHERE key = $1", key).Scan(&text)
			if err != nil || (text == nil) != (test.array == nil) || text != nil && *text != test.text {
				t.Errorf("%#v was stored as %v, %v, want %q", test.array, text, err, test.text)
			}
		}
	})
}

func TestArrayIsAParameterOfANYInNativePgx(t *testing.T) {
	eachNativePgx(t, func(t *testing.T, conn *pgx.Conn) {
		const query = "SELECT n FROM generate_series(9007199254740992, 9007199254740994) AS n WHERE n = ANY($1) ORDER BY n"
		for _, test := range []struct{ wanted, want sqltypes.Array }{
			{sqltypes.Array{9007199254740994, 5, 9007199254740993}, sqltypes.Array{9007199254740993, 9007199254740994}},
			{sqltypes.Array{}, nil},
			{nil, nil},
		} {
			rows, err := conn.Query(t.Context(), query, test.wanted)
			if err != nil {
				t.Fatal(err)
			}
			got, err := pgx.CollectRows(rows, pgx.RowTo[snowflake.ID])
			if !slices.Equal(got, test.want) || err != nil {
				t.Errorf("= ANY of %v: %v, %v, want %v", test.wanted, got, err, test.want)
			}
		}
	})
}

func TestArrayRefusesWhatItCanNotHoldFromNativePgx(t *testing.T) {
	eachNativePgx(t, func(t *testing.T, conn *pgx.Conn) {
		for query, want := range map[string]error{
			"SELECT ARRAY[1,NULL]::bigint[]":          snowflake.ErrNull,
			"SELECT ARRAY[[1,2],[3,4]]::bigint[]":     snowflake.ErrType,
			"SELECT ARRAY['007']::text[]":             snowflake.ErrSyntax,
			"SELECT ARRAY[9223372036854775808,'NaN']": nil, // numeric: which error depends on the format
			"SELECT ARRAY[true]":                      nil,
			"SELECT 1::bigint":                        nil,
		} {
			got := staleArray()
			err := conn.QueryRow(t.Context(), query).Scan(&got)
			if got != nil || err == nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%s: read %#v, %v, want nil and %v", query, got, err, want)
			}
		}
	})
}

func TestArrayReadsOtherArraysFromNativePgx(t *testing.T) {
	eachNativePgx(t, func(t *testing.T, conn *pgx.Conn) {
		for query, want := range map[string]sqltypes.Array{
			"SELECT '[2:3]={1,2}'::bigint[]":                         {1, 2},
			"SELECT ARRAY[1,-2]::int[]":                              {1, -2},
			"SELECT ARRAY[1,-2]::smallint[]":                         {1, -2},
			"SELECT ARRAY['9007199254740993']::text[]":               {9007199254740993},
			"SELECT ARRAY['9007199254740993']::varchar[]":            {9007199254740993},
			"SELECT array_replace(ARRAY[1,NULL]::bigint[], NULL, 0)": {1, 0},
			"SELECT ARRAY[]::bigint[]":                               {},
			"SELECT NULL::bigint[]":                                  nil,
		} {
			got := staleArray()
			if err := conn.QueryRow(t.Context(), query).Scan(&got); !sameArray(got, want) || err != nil {
				t.Errorf("%s: read %#v, %v, want %#v", query, got, err, want)
			}
		}
	})
}

// CopyFrom sends binary, into which pgx turns the text of an Array.
func TestArrayIsCopiedByNativePgx(t *testing.T) {
	eachNativePgx(t, func(t *testing.T, conn *pgx.Conn) {
		if _, err := conn.Exec(t.Context(), "CREATE TABLE lists (key bigint, ids bigint[])"); err != nil {
			t.Fatal(err)
		}
		var rows [][]any
		for key, test := range someArrays {
			rows = append(rows, []any{snowflake.ID(key), test.array})
		}
		n, err := conn.CopyFrom(t.Context(), pgx.Identifier{"lists"}, []string{"key", "ids"}, pgx.CopyFromRows(rows))
		if int(n) != len(rows) || err != nil {
			t.Fatalf("copied %d rows, %v", n, err)
		}
		for key, test := range someArrays {
			got := staleArray()
			err := conn.QueryRow(t.Context(), "SELECT ids FROM lists WHERE key = $1", key).Scan(&got)
			if !sameArray(got, test.array) || err != nil {
				t.Errorf("%#v was read back as %#v, %v", test.array, got, err)
			}
		}
	})
}
