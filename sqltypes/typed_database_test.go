package sqltypes_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

var (
	databaseUserIDs = []userID{0, 1, -5, 9007199254740993, 1234567890123456789, math.MaxInt64, math.MinInt64}
	databaseNulls   = []userNull{{}, {0, true}, {1234567890123456789, true}, {-5, true}, {math.MinInt64, true}}
)

// eachTypedTarget runs f on all databases, and in all modes of pgx.
func eachTypedTarget(t *testing.T, f func(t *testing.T, db database)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) { f(t, openDatabase(t, target)) })
	eachPgxMode(t, func(t *testing.T, target testdb.Target) { f(t, openDatabase(t, target)) })
}

func TestTypedIsANumberInDatabases(t *testing.T) {
	eachTypedTarget(t, func(t *testing.T, db database) {
		db.mustExec(t, "CREATE TABLE users (id bigint PRIMARY KEY, parent bigint)")
		for i, want := range databaseUserIDs {
			wantNull := databaseNulls[i%len(databaseNulls)]
			db.mustExec(t, "INSERT INTO users VALUES (?, ?)", want, wantNull)
			id, null := userID(42), userNull{42, true}
			row := db.QueryRowContext(t.Context(), db.query("SELECT id, parent FROM users WHERE id = ?"), want)
			if err := row.Scan(&id, &null); id != want || null != wantNull || err != nil {
				t.Errorf("%d, %+v were read back as %d, %+v, %v", want, wantNull, id, null, err)
			}
			var n int
			if err := db.scanOne(t, &n, "SELECT count(*) FROM users WHERE id = ?", want.Int64()); n != 1 || err != nil {
				t.Errorf("%d rows have the number %d, %v", n, want, err)
			}
		}
		// MySQL sends numbers as text when a query has no parameters.
		var id userID
		if err := db.scanOne(t, &id, "SELECT id FROM users WHERE id = 9007199254740993"); id != 9007199254740993 || err != nil {
			t.Errorf("without parameters: %d, %v", id, err)
		}
	})
}

func TestTypedRefusesNULLAndIsReset(t *testing.T) {
	eachTypedTarget(t, func(t *testing.T, db database) {
		db.mustExec(t, "CREATE TABLE users (id bigint, name varchar(40))")
		db.mustExec(t, "INSERT INTO users VALUES (NULL, 'user_0000000000007')")
		id := userID(42)
		err := db.scanOne(t, &id, "SELECT id FROM users")
		if !errors.Is(err, snowflake.ErrNull) || !strings.Contains(err.Error(), "sqltypes.TypedNull") || id != 0 {
			t.Errorf("NULL is read as %d, %v", id, err)
		}
		pointer, null := &id, userNull{42, true}
		if err := db.scanOne(t, &pointer, "SELECT id FROM users"); pointer != nil || err != nil {
			t.Errorf("NULL into a pointer = %v, %v", pointer, err)
		}
		if err := db.scanOne(t, &null, "SELECT id FROM users"); null.Valid || null.ID != 0 || err != nil {
			t.Errorf("NULL into a TypedNull = %+v, %v", null, err)
		}
		id, null = 42, userNull{42, true}
		if err := db.scanOne(t, &id, "SELECT name FROM users"); !errors.Is(err, snowflake.ErrSyntax) || id != 0 {
			t.Errorf("a column of prefixed texts is read as %d, %v", id, err)
		}
		if err := db.scanOne(t, &null, "SELECT name FROM users"); !errors.Is(err, snowflake.ErrSyntax) || null != (userNull{}) {
			t.Errorf("a column of prefixed texts is read as %+v, %v", null, err)
		}
	})
}

func TestTypedAndItsRelativesGoThroughNativePgx(t *testing.T) {
	eachNativePgx(t, func(t *testing.T, conn *pgx.Conn) {
		_, err := conn.Exec(t.Context(), "CREATE TABLE users (key int, id bigint, parent bigint, friends bigint[])")
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range databaseUserIDs {
			wantNull := databaseNulls[key%len(databaseNulls)]
			friends := userArray{want, 7}
			_, err := conn.Exec(t.Context(), "INSERT INTO users VALUES ($1, $2, $3, $4)", key, want, wantNull, friends)
			if err != nil {
				t.Fatal(err)
			}
			id, null, array := userID(42), userNull{42, true}, userArray{42}
			var isNull bool
			err = conn.QueryRow(t.Context(), "SELECT id, parent, friends, parent IS NULL FROM users WHERE id = ANY($1)", friends).
				Scan(&id, &null, &array, &isNull)
			if id != want || null != wantNull || !slices.Equal(array, friends) || isNull == wantNull.Valid || err != nil {
				t.Errorf("%d, %+v were read back as %d, %+v, %d, %v", want, wantNull, id, null, array, err)
			}
		}
		id, null := userID(42), userNull{42, true}
		if err := conn.QueryRow(t.Context(), "SELECT NULL::bigint").Scan(&id); !errors.Is(err, snowflake.ErrNull) || id != 0 {
			t.Errorf("NULL is read as %d, %v", id, err)
		}
		err = conn.QueryRow(t.Context(), "SELECT 7.5::float8").Scan(&null)
		if !errors.Is(err, snowflake.ErrType) || null != (userNull{}) {
			t.Errorf("a float is read as %+v, %v", null, err)
		}
	})
}

func TestTypedArrayIsOneParameterOnEveryDatabase(t *testing.T) {
	lists := map[string]string{
		"postgres": "SELECT count(*) FROM users WHERE id = ANY(?)",
		"sqlite":   "SELECT count(*) FROM users WHERE id IN (SELECT value FROM json_each(?))",
		"mariadb": "SELECT count(*) FROM users WHERE id IN " +
			"(SELECT id FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS ids)",
	}
	eachTypedTarget(t, func(t *testing.T, db database) {
		db.mustExec(t, "CREATE TABLE users (id bigint)")
		for _, id := range databaseUserIDs {
			db.mustExec(t, "INSERT INTO users VALUES (?)", id)
		}
		array := userArray{9007199254740993, math.MinInt64, 77}
		var parameter any = array
		if db.target.Name != "postgres" {
			parameter = array.JSONNumbers()
		}
		var n int
		if err := db.scanOne(t, &n, lists[db.target.Name], parameter); n != 2 || err != nil {
			t.Errorf("%d rows are found, %v, want 2", n, err)
		}
	})
}
