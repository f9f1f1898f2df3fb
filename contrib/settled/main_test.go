package settled_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/contrib/settled"
	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

func dialectOf(target testdb.Target) sqldb.Dialect {
	return map[string]sqldb.Dialect{"postgres": sqldb.Postgres, "mariadb": sqldb.MySQL, "sqlite": sqldb.SQLite}[target.Name]
}

// startServer starts a server of this test's own, and returns its DSN. With settings of the machine's server the test
// could disturb others.
func startServer(t *testing.T, variable string, config dbserver.Config) string {
	t.Helper()
	config.NoSync = true
	server, err := dbserver.Start(t.Context(), config)
	if errors.Is(err, dbserver.ErrNotInstalled) {
		skip.Missing(t, variable, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server.DSN
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// session returns a connection, which is closed at the end of the test.
func session(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func exec(t *testing.T, db executor, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func insert(id snowflake.ID) string { return fmt.Sprintf("INSERT INTO events (id) VALUES (%d)", id) }

func newGenerator(t *testing.T, worker int64, options ...snowflake.Option) *snowflake.Generator {
	t.Helper()
	g, err := snowflake.New(worker, options...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// age returns by how much the ID is older than the next one.
func age(g *snowflake.Generator, id snowflake.ID) time.Duration {
	return snowflake.Default().Time(g.MustNext()).Sub(snowflake.Default().Time(id))
}

type reader = func() (settled.Bound, error)

// readerOf returns a reader with a margin.
func readerOf(t *testing.T, db *sql.DB, dialect sqldb.Dialect, margin time.Duration) reader {
	return func() (settled.Bound, error) {
		return settled.Read(t.Context(), db, dialect, snowflake.Default(), settled.WithMargin(margin))
	}
}

// holds checks that the bound stays at or below the ID, whose transaction is open, until it is enough.
func holds(t *testing.T, id snowflake.ID, read reader, enough func(b settled.Bound) bool) settled.Bound {
	t.Helper()
	for {
		b, err := read()
		if err != nil || b.Below > id {
			t.Fatalf("%+v, %v; the transaction that has drawn %d is open", b, err, id)
		}
		if enough(b) {
			return b
		}
	}
}

func wantUnknown(t *testing.T, read reader, reason string) {
	t.Helper()
	if b, err := read(); !errors.Is(err, settled.ErrUnknown) || !strings.Contains(err.Error(), reason) {
		t.Errorf("the bound %+v, error %v; want ErrUnknown with %q", b, err, reason)
	}
}

// passes waits until the bound is above the ID, also for transactions of other tests.
func passes(t *testing.T, id snowflake.ID, read reader) settled.Bound {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		bound, err := read()
		if err == nil && bound.Below > id {
			return bound
		}
		if time.Now().After(end) {
			t.Fatalf("the bound %+v, %v does not pass %d", bound, err, id)
		}
	}
}
