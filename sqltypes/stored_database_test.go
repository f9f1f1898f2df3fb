package sqltypes_test

import (
	"errors"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// eachProtocol runs f on every database, in every mode of its driver.
func eachProtocol(t *testing.T, f func(t *testing.T, db database)) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		parameters := map[string]url.Values{"default": nil}
		switch target.Name {
		case "postgres":
			for _, mode := range pgxModes {
				parameters[mode] = url.Values{"default_query_exec_mode": {mode}}
			}
		case "mariadb":
			parameters["interpolated"] = url.Values{"interpolateParams": {"true"}}
		}
		for name, values := range parameters {
			t.Run(name, func(t *testing.T) {
				other := target
				if values != nil {
					other.DSN += "&" + values.Encode() // the DSN has parameters already
				}
				f(t, openDatabase(t, other))
			})
		}
	})
}

var databaseIDs = []snowflake.ID{0, 1, -5, 9007199254740993, 1234567890123456789, math.MaxInt64, math.MinInt64}

// storedColumns are the documented columns of the types.
var storedColumns = map[string]struct{ text, binary, uuid []string }{
	"sqlite": {
		text:   []string{"char(13)", "varchar(13)", "text", "blob"},
		binary: []string{"blob", "binary(8)"},
		uuid:   []string{"uuid", "text", "char(36)"},
	},
	"postgres": {
		text:   []string{"char(13)", "varchar(13)", "text", `text COLLATE "C"`},
		binary: []string{"bytea"},
		uuid:   []string{"uuid"},
	},
	"mariadb": {
		text:   []string{"char(13)", "varchar(13)", "text", "char(13) COLLATE ascii_bin"},
		binary: []string{"binary(8)", "varbinary(8)", "blob"},
		uuid:   []string{"uuid", "char(36)", "varchar(36)"},
	},
}

func TestStoredTypesRoundTripThroughDatabases(t *testing.T) {
	eachProtocol(t, func(t *testing.T, db database) {
		columns := storedColumns[db.target.Name]
		testStoredColumns[sqltypes.Text](t, db, "text", columns.text)
		testStoredColumns[sqltypes.Binary](t, db, "binary", columns.binary)
		if db.target.IsMySQL() {
			columns.uuid = []string{"char(36)", "varchar(36)"}
		}
		testStoredColumns[sqltypes.UUID](t, db, "uuid", columns.uuid)
	})
}

func testStoredColumns[T storedValue, P storedPointer[T]](t *testing.T, db database, name string, columns []string) {
	t.Helper()
	for i, column := range columns {
		table := "stored_" + name + string(rune('a'+i)) // drivers cache the types of a query's result
		db.mustExec(t, "DROP TABLE IF EXISTS "+table)   // of another mode
		db.mustExec(t, "CREATE TABLE "+table+" (n integer, id "+column+")")
		for n, id := range databaseIDs {
			db.mustExec(t, "INSERT INTO "+table+" VALUES (?, ?)", n, T(id))
			got := T(42)
			if err := db.scanOne(t, P(&got), "SELECT id FROM "+table+" WHERE id = ?", T(id)); got != T(id) || err != nil {
				t.Errorf("%d was read back from %s as %d, %v", id, column, got, err)
			}
		}
		var count int
		query := "SELECT count(*) FROM " + table + " WHERE id > ? AND id <= ?"
		if err := db.scanOne(t, &count, query, T(1), T(int64(math.MaxInt64))); err != nil || count != 3 {
			t.Errorf("%s: %d IDs above 1, %v, want 3", column, count, err)
		}
	}
}

// The comment of Text warns: STRING means numbers to SQLite.
func TestTextRefusesNumbersOfASQLiteColumn(t *testing.T) {
	db := openDatabase(t, testdb.SQLite(t))
	db.mustExec(t, "CREATE TABLE wrong (id string)")
	for _, text := range []string{"0000000000012", "00000000001E5", "7000E00000000"} {
		id, err := snowflake.ParseBase32(text)
		if err != nil {
			t.Fatal(err)
		}
		db.mustExec(t, "DELETE FROM wrong")
		db.mustExec(t, "INSERT INTO wrong VALUES (?)", sqltypes.Text(id))
		got := sqltypes.Text(42)
		if err := db.scanOne(t, &got, "SELECT id FROM wrong"); !errors.Is(err, snowflake.ErrType) || got != 0 {
			t.Errorf("%s was read as %d, %v, want %v", text, got, err, snowflake.ErrType)
		}
	}
}

func TestTextRefusesThePaddingOfAWideColumn(t *testing.T) {
	db := openDatabase(t, testdb.Postgres(t)) // the others remove the spaces
	db.mustExec(t, "CREATE TABLE wide (id char(15))")
	db.mustExec(t, "INSERT INTO wide VALUES (?)", sqltypes.Text(5))
	got := sqltypes.Text(42)
	err := db.scanOne(t, &got, "SELECT id FROM wide")
	if !errors.Is(err, snowflake.ErrSyntax) || !strings.Contains(err.Error(), "want 13 characters, got 15") || got != 0 {
		t.Errorf("read %d, %v", got, err)
	}
}

func TestUUIDReadsAColumnOf16Bytes(t *testing.T) {
	db := openDatabase(t, testdb.MariaDB(t))
	db.mustExec(t, "CREATE TABLE bytes (id binary(16) PRIMARY KEY)")
	want := sqltypes.UUID(1234567890123456789)
	raw := want.UUID()
	db.mustExec(t, "INSERT INTO bytes VALUES (?)", raw[:])
	var got sqltypes.UUID
	if err := db.scanOne(t, &got, "SELECT id FROM bytes WHERE id = ?", raw[:]); got != want || err != nil {
		t.Errorf("read %d, %v, want %d", got, err, want)
	}
}
