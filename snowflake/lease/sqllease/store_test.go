package sqllease_test

import (
	"database/sql"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// sqlTarget is a database and how it is connected to.
type sqlTarget struct {
	name    string
	dialect sqldb.Dialect
	open    func(tb testing.TB) testdb.Target
	single  bool // TestStoreKeepsTheContract uses one connection
	long    bool // it uses the target with SNOWFLAKE_TEST_LONG=1 only, as it differs little from another one
}

func withDSN(open func(testing.TB) testdb.Target, more string) func(tb testing.TB) testdb.Target {
	return func(tb testing.TB) testdb.Target {
		tb.Helper()
		target := open(tb)
		target.DSN += more
		return target
	}
}

var sqlTargets = []sqlTarget{
	{name: "sqlite", dialect: sqldb.SQLite, open: withDSN(testdb.SQLite, "")},
	{name: "sqlite with a rollback journal", dialect: sqldb.SQLite, single: true, open: func(tb testing.TB) testdb.Target {
		target := testdb.SQLite(tb)
		target.DSN = strings.Replace(target.DSN, "_journal_mode=WAL", "_journal_mode=DELETE", 1)
		return target
	}},
	{name: "postgres", dialect: sqldb.Postgres, open: withDSN(testdb.Postgres, "")},
	{
		name: "postgres with the simple protocol", dialect: sqldb.Postgres, single: true,
		open: withDSN(testdb.Postgres, "&default_query_exec_mode=simple_protocol"),
	},
	{
		name: "postgres without prepared statements", dialect: sqldb.Postgres, long: true,
		open: withDSN(testdb.Postgres, "&default_query_exec_mode=exec"),
	},
	{name: "mariadb", dialect: sqldb.MySQL, open: withDSN(testdb.MariaDB, "")},
	{
		name: "mariadb that counts found rows", dialect: sqldb.MySQL, single: true,
		open: withDSN(testdb.MariaDB, "&clientFoundRows=true"),
	},
	{
		name: "mariadb with interpolated parameters", dialect: sqldb.MySQL, long: true,
		open: withDSN(testdb.MariaDB, "&interpolateParams=true"),
	},
}

// eachSQL runs f as a parallel subtest on each target.
func eachSQL(t *testing.T, f func(t *testing.T, target testdb.Target, dialect sqldb.Dialect)) {
	t.Helper()
	for _, target := range sqlTargets {
		t.Run(target.name, func(t *testing.T) {
			t.Parallel() // it waits for the server, most of the time
			f(t, target.open(t), target.dialect)
		})
	}
}

// eachServer is eachSQL without SQLite.
func eachServer(t *testing.T, f func(t *testing.T, target testdb.Target, dialect sqldb.Dialect)) {
	t.Helper()
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		if dialect != sqldb.SQLite {
			f(t, target, dialect)
		}
	})
}

func newSQL(t *testing.T, db sqldb.DB, dialect sqldb.Dialect, opts ...sqllease.Option) *sqllease.Store {
	t.Helper()
	store, err := sqllease.New(db, dialect, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

var dialects = map[string]sqldb.Dialect{"sqlite": sqldb.SQLite, "postgres": sqldb.Postgres, "mariadb": sqldb.MySQL}

func sqlRequest(namespace string, first, last int64) leasestore.Request {
	return leasestore.Request{Namespace: namespace, First: first, Last: last, Token: leasetest.NewToken(), TTL: time.Hour, Tick: 1000}
}

// keep returns the claim for an extension that keeps the token.
func keep(c leasestore.Claim) leasestore.Claim {
	c.Next = c.Token
	return c
}

func mustAcquire(t *testing.T, store leasestore.Store, r leasestore.Request) leasestore.Grant {
	t.Helper()
	grant, err := store.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

func mustExtend(t *testing.T, store leasestore.Store, c leasestore.Claim, horizon int64) {
	t.Helper()
	if _, err := store.Extend(t.Context(), c, horizon, time.Hour); err != nil {
		t.Error(err)
	}
}

// mustRelease keeps the horizon.
func mustRelease(t *testing.T, store leasestore.Store, c leasestore.Claim) {
	t.Helper()
	if err := store.Release(t.Context(), c, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
}

// settings are for a store with its table in the database.
func settings(db *sql.DB) leasetest.Settings {
	return leasetest.Settings{Require: func(tb testing.TB, _ leasestore.Store, namespace string) {
		tb.Helper()
		exec(tb, db, "UPDATE snowflake_namespaces SET protocol = 3 WHERE namespace = '"+namespace+"'")
	}}
}

// A store that needed a second connection, or left a transaction open, would wait for ever on one connection.
func TestStoreKeepsTheContract(t *testing.T) {
	for _, target := range sqlTargets {
		t.Run(target.name, func(t *testing.T) {
			if target.long && os.Getenv("SNOWFLAKE_TEST_LONG") == "" {
				t.Skip("only with SNOWFLAKE_TEST_LONG=1")
			}
			t.Parallel()
			db := target.open(t).Open(t)
			db.SetMaxOpenConns(10) // servers allow a hundred or so
			if target.single {
				db.SetMaxOpenConns(1)
			}
			store := newSQL(t, db, target.dialect)
			leasetest.Run(t, func(*testing.T) leasestore.Store { return store }, settings(db))
		})
	}
}

func TestTablesAreConfigurable(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		schema := "main" // of SQLite
		query := map[sqldb.Dialect]string{sqldb.Postgres: "SELECT current_schema()", sqldb.MySQL: "SELECT DATABASE()"}[dialect]
		if query != "" {
			schema = ask[string](t, db, query)
		}
		for _, name := range []string{"Leases", schema + ".select", "_1", strings.Repeat("x", 53)} {
			texts, err := sqllease.Schema(dialect, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts {
				exec(t, db, text) // Migrate finds them
			}
			store := newSQL(t, db, dialect, sqllease.WithTables(name))
			for want := range int64(2) { // none of the others' rows is in it
				if grant, err := store.Acquire(t.Context(), sqlRequest("n", 0, 9)); err != nil || grant.Worker != want {
					t.Errorf("table %s: worker %d, error %v; want %d", name, grant.Worker, err, want)
				}
			}
		}
	})
}

func TestNewRejectsBadSettings(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	for _, table := range []string{
		".", "a.", ".a", "a.b.c", "1a", "a-b", "a b", `a"b`, "a`b", "a;b", "ä", "a\n", "a.1b", strings.Repeat("x", 54),
	} {
		if _, err := sqllease.New(db, sqldb.SQLite, sqllease.WithTables(table)); !errors.Is(err, lease.ErrOption) {
			t.Errorf("table %q: error %v, want ErrOption", table, err)
		}
		if _, err := sqllease.Schema(sqldb.MySQL, table); !errors.Is(err, lease.ErrOption) {
			t.Errorf("schema of table %q: error %v, want ErrOption", table, err)
		}
	}
	for _, dialect := range []sqldb.Dialect{"", "oracle", "Postgres"} {
		if _, err := sqllease.New(db, dialect); !errors.Is(err, lease.ErrOption) {
			t.Errorf("%v: error %v, want ErrOption", dialect, err)
		}
		if _, err := sqllease.Schema(dialect, "leases"); !errors.Is(err, lease.ErrOption) {
			t.Errorf("schema of %v: error %v, want ErrOption", dialect, err)
		}
	}
	if _, err := sqllease.New(nil, sqldb.SQLite); !errors.Is(err, lease.ErrOption) {
		t.Errorf("no database: error %v, want ErrOption", err)
	}
	if texts, err := sqllease.Schema(sqldb.SQLite, ""); err != nil || !strings.Contains(texts[1], `"snowflake_leases"`) {
		t.Errorf("schema of the default tables: %s, %v", texts, err)
	}
	if _, err := sqllease.New(db, sqldb.SQLite, nil); !errors.Is(err, lease.ErrOption) {
		t.Errorf("nil option: error %v, want ErrOption", err)
	}
}

// keepTables keeps a copy of both tables, and returns what puts it back.
func keepTables(t *testing.T, db *sql.DB) (back func()) {
	t.Helper()
	names := []string{"snowflake_namespaces", "snowflake_leases"}
	for _, name := range names {
		exec(t, db, "CREATE TABLE kept_"+name+" AS SELECT * FROM "+name)
	}
	return func() {
		for _, name := range names {
			exec(t, db, "DELETE FROM "+name)
			exec(t, db, "INSERT INTO "+name+" SELECT * FROM kept_"+name)
			exec(t, db, "DROP TABLE kept_"+name)
		}
	}
}

// clear empties both tables.
func clear(t testing.TB, db *sql.DB) {
	t.Helper()
	exec(t, db, "DELETE FROM snowflake_leases")
	exec(t, db, "DELETE FROM snowflake_namespaces")
}
