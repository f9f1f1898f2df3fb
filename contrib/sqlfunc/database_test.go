package sqlfunc_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// server is an empty database of one test, on PostgreSQL a schema.
type server struct {
	*sql.DB
	dialect sqldb.Dialect
	schema  string // PostgreSQL
}

func openPostgres(tb testing.TB) server {
	tb.Helper()
	s := server{DB: testdb.Postgres(tb).Open(tb), dialect: sqldb.Postgres}
	s.schema = scan[string](tb, s, "SELECT current_schema()")
	return s
}

func openMariaDB(tb testing.TB) server {
	tb.Helper()
	target := testdb.MariaDB(tb)
	target.NeedMariaDB(tb, "the functions of sqlfunc")
	return server{DB: target.Open(tb), dialect: sqldb.MySQL}
}

// worker returns the option for functions that issue IDs, where the database does.
func (s server) worker(worker int64) sqlfunc.Option {
	if s.dialect == sqldb.MySQL {
		return func(*sqlfunc.Functions) error { return nil }
	}
	return sqlfunc.WithWorker(worker)
}

// eachServer runs a test on the databases that read IDs.
func eachServer(t *testing.T, test func(t *testing.T, s server)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) { test(t, openPostgres(t)) })
	t.Run("mariadb", func(t *testing.T) { test(t, openMariaDB(t)) })
}

// functions returns functions for the schema.
func (s server) functions(tb testing.TB, layout snowflake.Layout, options ...sqlfunc.Option) *sqlfunc.Functions {
	tb.Helper()
	if s.schema != "" {
		options = append([]sqlfunc.Option{sqlfunc.WithSchema(s.schema)}, options...)
	}
	f, err := sqlfunc.New(layout, options...)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// install installs functions in the database.
func (s server) install(tb testing.TB, layout snowflake.Layout, options ...sqlfunc.Option) *sqlfunc.Functions {
	tb.Helper()
	f := s.functions(tb, layout, options...)
	if err := f.Install(tb.Context(), s, s.dialect); err != nil {
		tb.Fatalf("%s: %v", layout, err)
	}
	return f
}

// at replaces the server's clock by a time.
func (s server) at(at time.Time) sqlfunc.Option {
	return sqlfunc.WithClock("timestamptz '" + at.UTC().Format("2006-01-02 15:04:05.000000+00") + "'")
}

// series is the table of the numbers seq from 1 to n.
func (s server) series(n int) string {
	return fmt.Sprintf("generate_series(1, %d) AS series (seq)", n)
}

func (s server) exec(tb testing.TB, queries ...string) {
	tb.Helper()
	execOn(tb, s, queries...)
}

// execOn runs statements on a pool, a connection or a transaction, also after the test.
func execOn(tb testing.TB, db sqldb.DB, queries ...string) {
	tb.Helper()
	for _, query := range queries {
		if _, err := db.ExecContext(context.WithoutCancel(tb.Context()), query); err != nil {
			tb.Fatalf("%s: %v", query, err)
		}
	}
}

// scan reads the only value of a query on a pool, a connection or a transaction.
func scan[T any](tb testing.TB, db sqldb.DB, query string, args ...any) (value T) {
	tb.Helper()
	all := scanAll[T](tb, db, query, args...)
	if len(all) != 1 {
		tb.Fatalf("%s: %d rows", query, len(all))
	}
	return all[0]
}

// scanAll reads the only column of a query.
func scanAll[T any](tb testing.TB, db sqldb.DB, query string, args ...any) (all []T) {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), query, args...)
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var value T
		if err := rows.Scan(&value); err != nil {
			tb.Fatalf("%s: %v", query, err)
		}
		all = append(all, value)
	}
	if err := rows.Err(); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return all
}

// fails checks that a statement fails with the text, and on PostgreSQL with the SQLSTATE.
func (s server) fails(tb testing.TB, db sqldb.DB, query, state, text string) {
	tb.Helper()
	_, err := db.ExecContext(tb.Context(), query)
	s.failed(tb, query, err, state, text)
}

func (s server) failed(tb testing.TB, what string, err error, state, text string) {
	tb.Helper()
	var postgres *pgconn.PgError
	var mariadb *mysql.MySQLError
	switch {
	case err == nil || !strings.Contains(err.Error(), text), errors.As(err, &postgres) && postgres.Code != state,
		!errors.As(err, &postgres) && !errors.As(err, &mariadb):
		tb.Errorf("%s: %v, want SQLSTATE %s on PostgreSQL, and %q", what, err, state, text)
	}
}

// drop runs the statements of Drop.
func (s server) drop(tb testing.TB, f *sqlfunc.Functions) {
	tb.Helper()
	statements, err := f.Drop(s.dialect)
	if err != nil {
		tb.Fatal(err)
	}
	s.exec(tb, statements...)
}

// conn returns a separate connection with settings.
func (s server) conn(tb testing.TB, settings ...string) *sql.Conn {
	tb.Helper()
	conn, err := s.Conn(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	for _, setting := range settings {
		execOn(tb, conn, "SET "+setting)
	}
	return conn
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

// isLong reports whether the long versions of tests are to run. Run them after changes of the functions that issue IDs.
func isLong() bool { return os.Getenv("SNOWFLAKE_TEST_LONG") == "1" }
