package sqllease_test

import (
	"context"
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

// must ends the test after an error that none of its promises is about.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errOf returns the error of a call whose result does not matter.
func errOf[T any](_ T, err error) error { return err }

// wantEqual checks a value.
func wantEqual[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// newStore returns a store whose tables may be missing.
func newStore(t *testing.T, db sqldb.DB, dialect sqldb.Dialect, opts ...sqllease.Option) *sqllease.Store {
	t.Helper()
	store, err := sqllease.New(db, dialect, opts...)
	must(t, err)
	return store
}

func newSQL(t *testing.T, db sqldb.DB, dialect sqldb.Dialect, opts ...sqllease.Option) *sqllease.Store {
	t.Helper()
	store := newStore(t, db, dialect, opts...)
	must(t, store.Migrate(t.Context()))
	return store
}

// openSQL returns a pool, which may have ten connections as servers allow a hundred or so, and a store on it.
func openSQL(t *testing.T, target testdb.Target, dialect sqldb.Dialect) (*sql.DB, *sqllease.Store) {
	t.Helper()
	db := target.Open(t)
	db.SetMaxOpenConns(10)
	return db, newSQL(t, db, dialect)
}

// begin returns a transaction that is rolled back at the end of the test, if it was not committed.
func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	t.Cleanup(func() { _ = tx.Rollback() }) // fails after a commit
	return tx
}

// openConn returns a connection that is closed at the end of the test.
func openConn(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
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
	must(t, err)
	return grant
}

// extendErr extends for an hour.
func extendErr(t *testing.T, store leasestore.Store, c leasestore.Claim, horizon int64) error {
	t.Helper()
	return errOf(store.Extend(t.Context(), c, horizon, time.Hour))
}

func mustExtend(t *testing.T, store leasestore.Store, c leasestore.Claim, horizon int64) {
	t.Helper()
	wantErr(t, "Extend", extendErr(t, store, c, horizon), nil)
}

// mustRelease keeps the horizon.
func mustRelease(t *testing.T, store leasestore.Store, c leasestore.Claim) {
	t.Helper()
	must(t, store.Release(t.Context(), c, math.MaxInt64))
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
			db, store := openSQL(t, target.open(t), target.dialect)
			if target.single {
				db.SetMaxOpenConns(1)
			}
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
			must(t, err)
			for _, text := range texts {
				exec(t, db, text) // Migrate finds them
			}
			store := newSQL(t, db, dialect, sqllease.WithTables(name))
			for want := range int64(2) { // none of the others' rows is in it
				wantEqual(t, "the worker in table "+name, mustAcquire(t, store, sqlRequest("n", 0, 9)).Worker, want)
			}
		}
	})
}

func TestNewRejectsBadSettings(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	for _, table := range []string{
		".", "a.", ".a", "a.b.c", "1a", "a-b", "a b", `a"b`, "a`b", "a;b", "ä", "a\n", "a.1b", strings.Repeat("x", 54),
	} {
		wantErr(t, "table "+table, errOf(sqllease.New(db, sqldb.SQLite, sqllease.WithTables(table))), lease.ErrOption)
		wantErr(t, "schema of "+table, errOf(sqllease.Schema(sqldb.MySQL, table)), lease.ErrOption)
	}

	for _, dialect := range []sqldb.Dialect{"", "oracle", "Postgres"} {
		wantErr(t, string(dialect), errOf(sqllease.New(db, dialect)), lease.ErrOption)
		wantErr(t, "schema of "+string(dialect), errOf(sqllease.Schema(dialect, "leases")), lease.ErrOption)
	}

	wantErr(t, "no database", errOf(sqllease.New(nil, sqldb.SQLite)), lease.ErrOption)
	wantErr(t, "nil option", errOf(sqllease.New(db, sqldb.SQLite, nil)), lease.ErrOption)
	if texts, err := sqllease.Schema(sqldb.SQLite, ""); err != nil || !strings.Contains(texts[1], `"snowflake_leases"`) {
		t.Errorf("schema of the default tables: %s, %v", texts, err)
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

// exec runs a statement of the test's own.
func exec(t testing.TB, db interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, query string,
) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// ask returns the one value that a query answers with.
func ask[T any](t *testing.T, db *sql.DB, query string) (value T) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// whileLocked makes a call whose statement number n waits for rows that a transaction has updated, and returns the error
// of the call, which ends after the commit.
func whileLocked(
	t *testing.T, target testdb.Target, dialect sqldb.Dialect, db *sql.DB, updates []string, n int64, call func(store *sqllease.Store) error,
) error {
	t.Helper()
	begun := make(chan struct{})
	store, _ := countedStore(t, db, target, dialect, func(statement int64) {
		if statement == n {
			close(begun)
		}
	})

	tx := begin(t, db)
	for _, update := range updates {
		exec(t, tx, update)
	}

	answer := make(chan error, 1)
	go func() { answer <- call(store) }()
	<-begun
	select {
	case err := <-answer:
		t.Fatalf("the call did not wait for the row: %v", err)
	case <-time.After(20 * time.Millisecond): // most likely it waits for the row by now
	}

	must(t, tx.Commit())
	return <-answer
}

// The earlier owner raises the horizon after Acquire has looked and before it takes the worker over.
func TestTheHorizonOfAGrantIsReadAfterTheTakeover(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		mustRelease(t, store, mustAcquire(t, store, sqlRequest("n", 7, 7)).Claim)
		var next leasestore.Grant
		const raise = "UPDATE snowflake_leases SET horizon = 5000, revision = revision + 1 WHERE worker = 7"
		must(t, whileLocked(t, target, dialect, db, []string{raise}, 2, func(asker *sqllease.Store) (err error) {
			next, err = asker.Acquire(t.Context(), sqlRequest("n", 7, 7))
			return err
		}))

		if next.Horizon != 5000 || next.Epoch != 2 {
			t.Errorf("horizon %d, epoch %d; want 5000, 2", next.Horizon, next.Epoch)
		}
	})
}

// An extension that was sent earlier waits for a lock, and ends after another one of the same owner.
func TestAnExtensionThatWaitedDoesNotShortenTheLease(t *testing.T) {
	db, store := openSQL(t, testdb.Postgres(t), sqldb.Postgres)
	claim := keep(mustAcquire(t, store, sqlRequest("n", 0, 0)).Claim)
	tx := begin(t, db)
	exec(t, tx, "UPDATE snowflake_leases SET revision = revision + 1")

	waited := make(chan error, 1)
	var now time.Time
	go func() {
		var err error
		now, err = store.Extend(t.Context(), claim, 10, time.Hour)
		waited <- err
	}()
	awaitLocks(t, db, sqldb.Postgres, 1, waited)

	exec(t, tx, "UPDATE snowflake_leases SET expires_ms = EXTRACT(EPOCH FROM clock_timestamp()) * 1000 + 3600000")
	other := ask[int64](t, db, "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint)")
	must(t, tx.Commit())
	must(t, <-waited)

	expires := ask[int64](t, db, "SELECT expires_ms FROM snowflake_leases") - time.Hour.Milliseconds()
	if expires < other || now.UnixMilli() < other {
		t.Errorf("extended from %d on, at %d, want %d or later", expires, now.UnixMilli(), other)
	}
}

// The row of RETURNING arrives before the commit, which a deferred constraint refuses.
func TestAnExtensionThatIsNotCommittedIsAnError(t *testing.T) {
	db, store := openSQL(t, testdb.Postgres(t), sqldb.Postgres)
	grant := mustAcquire(t, store, sqlRequest("n", 0, 0))
	exec(t, db, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'")
	exec(t, db, "CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON snowflake_leases DEFERRABLE INITIALLY DEFERRED "+
		"FOR EACH ROW EXECUTE FUNCTION refuse()")
	if now, err := store.Extend(t.Context(), keep(grant.Claim), 10, time.Hour); err == nil || errors.Is(err, lease.ErrLost) {
		t.Errorf("Extend: %v, %v", now, err)
	}
}

// The earlier owner is alive and extends after the look, so the row is not free any more.
func TestAWorkerThatWasExtendedMeanwhileIsNotTakenOver(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		grant := mustAcquire(t, store, sqlRequest("n", 7, 8))
		mustRelease(t, store, grant.Claim)
		asker, _ := countedStore(t, db, target, dialect, func(n int64) {
			if n == 2 {
				mustExtend(t, store, keep(grant.Claim), 10)
			}
		})

		next := mustAcquire(t, asker, sqlRequest("n", 7, 8))
		wantEqual(t, "the worker, since 7 is held again", next.Worker, 8)
		mustExtend(t, store, keep(grant.Claim), 20)
	})
}

// Sessions have different time zones, and databases different default isolation levels.
func TestSessionsDoNotMatter(t *testing.T) {
	const (
		postgres = "&TimeZone=Asia/Kathmandu&default_transaction_isolation=serializable"
		mariadb  = "&time_zone=%27-07:30%27&sql_mode=%27%27"
	)

	isolation := "&tx_isolation=%27SERIALIZABLE%27"
	if testdb.MariaDB(t).IsMySQL() {
		isolation = "&transaction_isolation=%27SERIALIZABLE%27"
	}

	for _, target := range []sqlTarget{
		{name: "postgres", dialect: sqldb.Postgres, open: withDSN(testdb.Postgres, postgres)},
		{name: "mariadb", dialect: sqldb.MySQL, open: withDSN(testdb.MariaDB, mariadb+isolation)},
	} {
		t.Run(target.name, func(t *testing.T) {
			store := newSQL(t, target.open(t).Open(t), target.dialect)
			grant := mustAcquire(t, store, sqlRequest("n", 0, 0))
			now, err := store.Extend(t.Context(), keep(grant.Claim), 1, time.Hour)
			must(t, err)
			// The server's time must be right within minutes; time zones differ by more.
			for what, got := range map[string]time.Time{"Acquire": grant.Now, "Extend": now} {
				if d := time.Since(got).Abs(); d > 10*time.Minute {
					t.Errorf("%s returned %v, which is off by %v", what, got, d)
				}
			}
		})
	}
}

func TestMigrateTakesATableOfItsOwnOnly(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		exec(t, db, "CREATE TABLE snowflake_leases (id bigint)")
		if err := newStore(t, db, dialect).Migrate(t.Context()); err == nil {
			t.Error("a table with other columns was taken")
		}
	})
}
