package testdb_test

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func mustExec(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func TestSQLiteEnforcesForeignKeys(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	mustExec(t, db, "CREATE TABLE parent (id integer PRIMARY KEY)")
	mustExec(t, db, "CREATE TABLE child (id integer REFERENCES parent)")
	if _, err := db.ExecContext(t.Context(), "INSERT INTO child VALUES (1)"); err == nil {
		t.Error("a child without a parent was stored")
	}
}

func TestMariaDBScansTimes(t *testing.T) {
	var now sql.NullTime
	if err := testdb.MariaDB(t).Open(t).QueryRowContext(t.Context(), "SELECT NOW()").Scan(&now); err != nil {
		t.Error(err)
	}
}

func TestATestThatNeedsMariaDBIsSkippedOnMySQLAlone(t *testing.T) {
	for _, tt := range []struct {
		target  testdb.Target
		skipped bool
	}{
		{testdb.Target{Name: "mariadb", Version: "9.7.4-2"}, true},
		{testdb.Target{Name: "mariadb", Version: "10.11.14-MariaDB-0+deb12u2"}, false},
		{testdb.Target{Name: "postgres", Version: "18.0"}, false},
		{testdb.Target{Name: "sqlite"}, false},
	} {
		var skipped bool
		t.Run(tt.target.Name+" "+tt.target.Version, func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			tt.target.NeedMariaDB(t, "RETURNING")
		})
		if skipped != tt.skipped {
			t.Errorf("%v: skipped is %t", tt.target, skipped)
		}
	}
}

func TestMySQLIsToldFromMariaDB(t *testing.T) {
	target := testdb.MariaDB(t)
	db := target.Open(t)
	mustExec(t, db, "CREATE TABLE t (id bigint)")
	_, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (1) RETURNING id") // a syntax error on MySQL
	if (err != nil) != target.IsMySQL() {
		t.Errorf("version %q: IsMySQL is %t, RETURNING gives %v", target.Version, target.IsMySQL(), err)
	}
}

// exists reports whether the server has a schema or database with the name.
func exists(t *testing.T, server testdb.Target, name string) bool {
	t.Helper()
	query := "SELECT count(*) FROM information_schema.schemata WHERE schema_name = ?"
	if server.Driver == "pgx" {
		query = strings.Replace(query, "?", "$1", 1)
	}
	var n int
	if err := server.Open(t).QueryRowContext(t.Context(), query, name).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n > 0
}

func schemaName(t *testing.T, dsn string) string {
	t.Helper()
	start := strings.Index(dsn, "sqlflake_test_")
	if start < 0 {
		t.Fatalf("no name in %s", dsn)
	}
	return dsn[start : start+len("sqlflake_test_")+20]
}

func TestSchemaIsDroppedAfterAFailureWithinATransaction(t *testing.T) {
	servers := map[string]testdb.Target{"postgres": testdb.Postgres(t), "mariadb": testdb.MariaDB(t)}
	// The child uses the servers of this process, wherever they were found.
	out, ok := runChild(t, asUsual, "TestChildFailsWithinATransaction", sameServers(t)...)
	if ok {
		t.Fatalf("the child should have failed:\n%s", out)
	}
	if strings.Contains(out, "testdb: ") {
		t.Errorf("the cleanup failed too:\n%s", out)
	}
	for name, server := range servers {
		if schema := schemaName(t, printed(t, out, name)); exists(t, server, schema) {
			t.Errorf("%s: %s is still there", name, schema)
		}
	}
	file, _, _ := strings.Cut(printed(t, out, "sqlite"), "?")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("sqlite: %s is still there: %v", file, err)
	}
}

func TestParallelTestsDoNotSeeEachOther(t *testing.T) {
	for i := range 8 {
		t.Run(itoa(i), func(t *testing.T) {
			t.Parallel()
			testdb.Each(t, func(t *testing.T, target testdb.Target) {
				mustExec(t, target.Open(t), "CREATE TABLE t (id bigint)") // fails if another test's table is visible
			})
		})
	}
}
