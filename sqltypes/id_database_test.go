package sqltypes_test

import (
	"database/sql"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// These tests of snowflake.ID are here because package snowflake stays free of drivers.

var databaseIDs = []snowflake.ID{0, 1, -5, 9007199254740993, 1234567890123456789, math.MaxInt64, math.MinInt64}

func TestIDRoundTripsThroughIntegerTextAndNumericColumns(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		db.mustExec(t, `CREATE TABLE ids (as_bigint bigint, as_text varchar(40), as_numeric decimal(30,0))`)
		for _, want := range databaseIDs {
			// pgx has no way from an int64 to a text parameter, so text and numeric get the ID's text.
			db.mustExec(t, "INSERT INTO ids VALUES (?, ?, ?)", want, want.String(), want.String())
			var fromInteger, fromText, fromNumeric snowflake.ID
			row := db.QueryRowContext(t.Context(), db.query("SELECT as_bigint, as_text, as_numeric FROM ids WHERE as_bigint = ?"), want)
			if err := row.Scan(&fromInteger, &fromText, &fromNumeric); err != nil {
				t.Fatalf("%d: %v", want, err)
			}
			if fromInteger != want || fromText != want || fromNumeric != want {
				t.Errorf("%d was read back as %d from bigint, %d from text, %d from numeric", want, fromInteger, fromText, fromNumeric)
			}
		}
	})
}

// MySQL sends numbers as text when a query has no parameters, and as integers when it has.
func TestIDIsReadWithAndWithoutParameters(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		db.mustExec(t, "CREATE TABLE ids (id bigint)")
		db.mustExec(t, "INSERT INTO ids VALUES (?)", snowflake.ID(1234567890123456789))
		for _, query := range []string{"SELECT id FROM ids", "SELECT id FROM ids WHERE id > ?"} {
			var args []any
			if strings.Contains(query, "?") {
				args = append(args, snowflake.ID(0))
			}
			var got snowflake.ID
			if err := db.scanOne(t, &got, query, args...); got != 1234567890123456789 || err != nil {
				t.Errorf("%s: %d, %v", query, got, err)
			}
		}
	})
}

func TestIDIsStoredAsAnInteger(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		db.mustExec(t, "CREATE TABLE ids (id bigint)")
		db.mustExec(t, "INSERT INTO ids VALUES (?)", snowflake.ID(9007199254740993))
		var next int64
		if err := db.scanOne(t, &next, "SELECT id + 1 FROM ids"); next != 9007199254740994 || err != nil {
			t.Errorf("id + 1 = %d, %v", next, err)
		}
	})
}

func TestIDRefusesNULLAndNamesTheNullType(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		db.mustExec(t, "CREATE TABLE ids (id bigint)")
		db.mustExec(t, "INSERT INTO ids VALUES (NULL)")
		id := snowflake.ID(42)
		err := db.scanOne(t, &id, "SELECT id FROM ids")
		if !errors.Is(err, snowflake.ErrNull) || !strings.Contains(err.Error(), "sqltypes.Null") {
			t.Errorf("error %v, want one that names sqltypes.Null", err)
		}
		if id != 42 {
			t.Errorf("NULL changed the ID to %d", id)
		}
		// The ways out that the error names.
		pointer := &id
		if err := db.scanOne(t, &pointer, "SELECT id FROM ids"); pointer != nil || err != nil {
			t.Errorf("NULL into *ID = %v, %v, want nil", pointer, err)
		}
		null := sql.Null[snowflake.ID]{V: 42, Valid: true}
		if err := db.scanOne(t, &null, "SELECT id FROM ids"); null.Valid || err != nil {
			t.Errorf("NULL into sql.Null[ID] = %+v, %v", null, err)
		}
	})
}

func TestNilPointerToIDIsStoredAsNULL(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		db.mustExec(t, "CREATE TABLE ids (id bigint)")
		db.mustExec(t, "INSERT INTO ids VALUES (?)", (*snowflake.ID)(nil))
		var isNull bool
		if err := db.scanOne(t, &isNull, "SELECT id IS NULL FROM ids"); !isNull || err != nil {
			t.Errorf("stored as NULL: %v, %v", isNull, err)
		}
	})
}

func TestIDRefusesColumnsOfOtherTypes(t *testing.T) {
	columns := []struct {
		columnType, literal string
		want                error
		except              map[string]error // targets that differ; nil where the column reads as 1
	}{
		{"double precision", "1234567890123456789", snowflake.ErrType, nil},
		{"real", "5", snowflake.ErrType, nil},
		{"varchar(40)", "'007'", snowflake.ErrSyntax, nil},
		{"varchar(40)", "''", snowflake.ErrSyntax, nil},
		{"varchar(40)", "' 5'", snowflake.ErrSyntax, nil},
		{"varchar(40)", "'9223372036854775808'", snowflake.ErrRange, nil},
		// SQLite has no decimals: a number that is no int64 becomes a float.
		{"decimal(30,2)", "77.50", snowflake.ErrSyntax, map[string]error{"sqlite": snowflake.ErrType}},
		{"decimal(30,0)", "9223372036854775808", snowflake.ErrRange, map[string]error{"sqlite": snowflake.ErrType}},
		// MariaDB's boolean is tinyint(1), a number.
		{"boolean", "true", snowflake.ErrType, map[string]error{"mariadb": nil}},
		{"timestamp", "'2026-01-02 03:04:05'", snowflake.ErrType, nil},
	}
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		for i, column := range columns {
			want := column.want
			if other, ok := column.except[target.Name]; ok {
				want = other
			}
			table := "wrong" + strconv.Itoa(i) // drivers remember the types of a query's result, so each has its own
			db.mustExec(t, "CREATE TABLE "+table+" (c "+column.columnType+")")
			db.mustExec(t, "INSERT INTO "+table+" VALUES ("+column.literal+")")
			id, wantID := snowflake.ID(42), snowflake.ID(42)
			if want == nil {
				wantID = 1
			}
			err := db.scanOne(t, &id, "SELECT c FROM "+table)
			if !errors.Is(err, want) || id != wantID {
				t.Errorf("%s %s: read as %d, error %v, want %d, %v", column.columnType, column.literal, id, err, wantID, want)
			}
		}
	})
}
