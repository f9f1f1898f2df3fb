package sqlfunc_test

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// openMariaDB returns a database of one test.
func openMariaDB(tb testing.TB) server {
	tb.Helper()
	target := testdb.MariaDB(tb)
	target.NeedMariaDB(tb, "the functions of sqlfunc")
	return server{DB: target.Open(tb)}
}

// installMariaDB installs functions in the database.
func (s server) installMariaDB(tb testing.TB, layout snowflake.Layout, options ...sqlfunc.Option) *sqlfunc.Functions {
	tb.Helper()
	f, err := sqlfunc.New(layout, options...)
	if err != nil {
		tb.Fatal(err)
	}
	if err := f.Install(tb.Context(), s, sqldb.MySQL); err != nil {
		tb.Fatalf("%s: %v", layout, err)
	}
	return f
}

// The package comment promises it: nothing is installed partially.
func TestMySQLRejectsTheFirstStatement(t *testing.T) {
	target := testdb.MariaDB(t)
	if !target.IsMySQL() {
		t.Skip("the server is MariaDB")
	}
	f, err := sqlfunc.New(snowflake.Default(), sqlfunc.WithWorker(1))
	if err != nil {
		t.Fatal(err)
	}
	err = f.Install(t.Context(), target.Open(t), sqldb.MySQL)
	if err == nil || !strings.Contains(err.Error(), "statement 1 of ") {
		t.Errorf("error %v, want that of the first statement", err)
	}
}
