package sqlfunc_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// openMariaDB returns a database of one test.
func openMariaDB(tb testing.TB) server {
	tb.Helper()
	return server{DB: testdb.MariaDB(tb).Open(tb)}
}

// installMariaDB installs functions in the database.
func (s server) installMariaDB(tb testing.TB, layout snowflake.Layout, options ...sqlfunc.Option) *sqlfunc.Functions {
	tb.Helper()
	f, err := sqlfunc.New(layout, options...)
	if err != nil {
		tb.Fatal(err)
	}
	if err := f.Install(tb.Context(), s, sqllease.MySQL); err != nil {
		tb.Fatalf("%s: %v", layout, err)
	}
	return f
}
