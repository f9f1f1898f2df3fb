package testdb_test

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func mustExec(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func TestGORMAndDatabaseSQLSeeTheSameTables(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := target.Open(t)
		mustExec(t, db, "CREATE TABLE seen (id bigint)")
		orm, err := gorm.Open(target.Dialector())
		if err != nil {
			t.Fatal(err)
		}
		pool, err := orm.DB()
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if !orm.Migrator().HasTable("seen") {
			t.Errorf("%s: GORM does not see the table", target.Name)
		}
	})
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
	servers, serversErr := testdb.Servers()
	if serversErr != nil || (err != nil) != target.IsMySQL() || (err != nil) != (servers[1].Name == "mysql") {
		t.Errorf("version %q: IsMySQL is %t, RETURNING gives %v; servers %v, %v", target.Version, target.IsMySQL(), err, servers, serversErr)
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

func TestRedisKeysAreDeletedWhenTheTestEnds(t *testing.T) {
	addr, kept := testdb.Redis(t)
	const keys = 2500 // more than one page of SCAN
	set := func(ctx context.Context, prefix string, n int) {
		script := "for i = 1, tonumber(ARGV[1]) do redis.call('SET', KEYS[1] .. i, 'x') end"
		if _, err := testdb.DoRedis(ctx, addr, "EVAL", script, "1", prefix, itoa(n)); err != nil {
			t.Fatal(err)
		}
	}
	count := func(prefix string) int64 {
		script := "return #redis.call('KEYS', KEYS[1] .. '*')"
		n, err := testdb.DoRedis(t.Context(), addr, "EVAL", script, "1", prefix)
		if err != nil {
			t.Fatal(err)
		}
		return n.(int64)
	}
	set(t.Context(), kept, 3)
	var gone string
	t.Run("inner", func(t *testing.T) {
		_, gone = testdb.Redis(t)
		set(t.Context(), gone, keys)
		if n := count(gone); n != keys {
			t.Errorf("%d keys during the test, want %d", n, keys)
		}
	})
	if n := count(gone); n != 0 {
		t.Errorf("%d keys are left", n)
	}
	if n := count(kept); n != 3 {
		t.Errorf("%d keys of another test, want 3", n)
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
