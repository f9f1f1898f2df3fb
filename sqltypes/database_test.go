package sqltypes_test

import (
	"database/sql"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// database is a connection to a target with SQL that all targets understand.
type database struct {
	*sql.DB
	target testdb.Target
}

func openDatabase(t *testing.T, target testdb.Target) database {
	t.Helper()
	return database{target.Open(t), target}
}

// query writes the parameters of a query, given as "?", as the target wants them.
func (db database) query(query string) string {
	if db.target.Name != "postgres" {
		return query
	}
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", "$"+strconv.Itoa(n), 1)
	}
	return query
}

func (db database) mustExec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), db.query(query), args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// scanOne reads the only value of a query.
func (db database) scanOne(t *testing.T, target any, query string, args ...any) error {
	t.Helper()
	return db.QueryRowContext(t.Context(), db.query(query), args...).Scan(target)
}
