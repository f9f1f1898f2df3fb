package sqlfunc_test

import (
	"context"
	"database/sql"
	"os"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// server is a PostgreSQL schema of one test.
type server struct {
	*sql.DB
	schema string
}

func openPostgres(tb testing.TB) server {
	tb.Helper()
	s := server{DB: testdb.Postgres(tb).Open(tb)}
	s.schema = scan[string](tb, s, "SELECT current_schema()")
	return s
}

// isLong reports whether the long versions of tests are to run. Run them after changes of the functions that issue IDs.
func isLong() bool { return os.Getenv("SNOWFLAKE_TEST_LONG") == "1" }

// rowsOfAConnection is how many rows each of several connections inserts at the same time.
func rowsOfAConnection() int {
	if isLong() {
		return 100_000
	}
	return 5_000
}

// functions returns functions for the schema.
func (s server) functions(tb testing.TB, layout snowflake.Layout, options ...sqlfunc.Option) *sqlfunc.Functions {
	tb.Helper()
	f, err := sqlfunc.New(layout, append([]sqlfunc.Option{sqlfunc.WithSchema(s.schema)}, options...)...)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// install installs functions in the schema.
func (s server) install(tb testing.TB, layout snowflake.Layout, options ...sqlfunc.Option) *sqlfunc.Functions {
	tb.Helper()
	f := s.functions(tb, layout, options...)
	if err := f.Install(tb.Context(), s, sqldb.Postgres); err != nil {
		tb.Fatal(err)
	}
	return f
}

func (s server) exec(tb testing.TB, query string, args ...any) {
	tb.Helper()
	if _, err := s.ExecContext(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// scan reads the only value of a query.
func scan[T any](tb testing.TB, s server, query string, args ...any) T {
	tb.Helper()
	var value T
	if err := s.QueryRowContext(tb.Context(), query, args...).Scan(&value); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return value
}

// presets are the layouts of package snowflake.
var presets = map[string]snowflake.Layout{
	"default": snowflake.Default(), "wide": snowflake.MustPreset("wide"), "javascriptsafe": snowflake.MustPreset("javascriptsafe"),
	"seconds": preset("seconds"), "twitter": snowflake.MustPreset("twitter"), "discord": preset("discord"),
	"instagram": preset("instagram"), "sonyflake": preset("sonyflake"), "mastodon": preset("mastodon"),
	"baidu": preset("baidu"), "datacenter": preset("datacenter"), "resource": preset("resource"),
	"manyworkers": preset("manyworkers"), "multiclock": preset("multiclock"),
}

// clean runs statements after a test, whose context has ended by then.
func (s server) clean(tb testing.TB, queries ...string) {
	tb.Helper()
	for _, query := range queries {
		if _, err := s.ExecContext(context.WithoutCancel(tb.Context()), query); err != nil {
			tb.Errorf("%s: %v", query, err)
		}
	}
}

func (s server) cleanRole(tb testing.TB, role string) {
	tb.Helper()
	s.clean(tb, "DROP OWNED BY "+role, "DROP ROLE "+role)
}

func preset(name string) snowflake.Layout {
	l, err := snowflake.Preset(name)
	if err != nil {
		panic(err)
	}
	return l
}

// drop runs the statements of Drop.
func drop(t *testing.T, db *sql.DB, f *sqlfunc.Functions, dialect sqldb.Dialect) {
	t.Helper()
	statements, err := f.Drop(dialect)
	for _, statement := range statements {
		if err == nil {
			_, err = db.ExecContext(t.Context(), statement)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// settings uses a separate connection.
func (s server) settings(tb testing.TB, settings ...string) *sql.Conn {
	tb.Helper()
	conn, err := s.Conn(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	for _, setting := range settings {
		if _, err := conn.ExecContext(tb.Context(), "SET "+setting); err != nil {
			tb.Fatalf("%s: %v", setting, err)
		}
	}
	return conn
}

func askConn[T any](tb testing.TB, conn *sql.Conn, query string) T {
	tb.Helper()
	var value T
	if err := conn.QueryRowContext(tb.Context(), query).Scan(&value); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return value
}

// begin returns a transaction that is rolled back at the end of the test.
func (s server) begin(tb testing.TB) *sql.Tx {
	tb.Helper()
	tx, err := s.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tx.Rollback() })
	return tx
}
