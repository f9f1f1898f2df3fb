package sqltypes_test

import (
	"errors"
	"math"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

func TestNullRoundTripsThroughDatabases(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		db.mustExec(t, "CREATE TABLE nodes (id bigint PRIMARY KEY, parent bigint)")
		for key, want := range []sqltypes.Null{
			{},
			sqltypes.NullFrom(0),
			sqltypes.NullFrom(1234567890123456789),
			sqltypes.NullFrom(-5),
			sqltypes.NullFrom(math.MaxInt64),
			sqltypes.NullFrom(math.MinInt64),
		} {
			db.mustExec(t, "INSERT INTO nodes (id, parent) VALUES (?, ?)", snowflake.ID(key), want)
			got := sqltypes.NullFrom(42)
			if err := db.scanOne(t, &got, "SELECT parent FROM nodes WHERE id = ?", snowflake.ID(key)); got != want || err != nil {
				t.Errorf("%+v was read back as %+v, %v", want, got, err)
			}
			var isNull bool
			if err := db.scanOne(t, &isNull, "SELECT parent IS NULL FROM nodes WHERE id = ?", key); isNull != !want.Valid || err != nil {
				t.Errorf("%+v was stored as NULL: %v, %v", want, isNull, err)
			}
		}
	})
}

// The variable of a loop over rows must not show the parent of the row before.
func TestNullIsResetFromRowToRow(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		rows, err := db.QueryContext(t.Context(),
			"SELECT 1 AS n, 7 AS parent UNION ALL SELECT 2, NULL UNION ALL SELECT 3, 9 ORDER BY n")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var got []sqltypes.Null
		var parent sqltypes.Null
		for rows.Next() {
			var n int
			if err := rows.Scan(&n, &parent); err != nil {
				t.Fatal(err)
			}
			got = append(got, parent)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		want := []sqltypes.Null{sqltypes.NullFrom(7), {}, sqltypes.NullFrom(9)}
		if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("read %+v, want %+v", got, want)
		}
	})
}

func TestNullRefusesColumnsOfOtherTypesAndIsReset(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		db.mustExec(t, "CREATE TABLE wrong (real_id double precision, text_id varchar(40))")
		db.mustExec(t, "INSERT INTO wrong VALUES (1234567890123456789, '007')")
		for column, want := range map[string]error{"real_id": snowflake.ErrType, "text_id": snowflake.ErrSyntax} {
			got := sqltypes.NullFrom(42)
			err := db.scanOne(t, &got, "SELECT "+column+" FROM wrong")
			if !errors.Is(err, want) {
				t.Errorf("%s: error %v, want %v", column, err, want)
			}
			if got != (sqltypes.Null{}) {
				t.Errorf("%s: %+v after an error, want NULL", column, got)
			}
		}
	})
}

func TestNullReadsIDsStoredAsText(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		db.mustExec(t, "CREATE TABLE legacy (text_id varchar(40))")
		db.mustExec(t, "INSERT INTO legacy VALUES ('1234567890123456789')")
		var got sqltypes.Null
		err := db.scanOne(t, &got, "SELECT text_id FROM legacy")
		if got != sqltypes.NullFrom(1234567890123456789) || err != nil {
			t.Errorf("read %+v, %v", got, err)
		}
	})
}
