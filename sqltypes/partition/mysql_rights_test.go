package partition_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// mysqlRights are those of the package's documentation.
var mysqlRights = []string{"ALTER", "CREATE", "DROP", "INSERT", "SELECT", "LOCK TABLES"}

// TestMySQLRightsOfTheDocumentationDo takes away one right after the other first: a call that fails loses no rows, and the
// next one goes on.
func TestMySQLRightsOfTheDocumentationDo(t *testing.T) {
	e := filledMySQL(t)
	database := e.texts("SELECT DATABASE()")[0]
	user := database[:len("sqlflake_test_")+10] // the longest name of a user has 32 characters
	e.exec("CREATE USER " + user + " IDENTIFIED BY 'few rights'")
	t.Cleanup(func() {
		if _, err := e.ExecContext(context.WithoutCancel(t.Context()), "DROP USER "+user); err != nil {
			t.Error(err)
		}
	})
	maintain := func(rights []string, options ...partition.Option) ([]partition.Step, error) {
		t.Helper()
		e.exec(fmt.Sprintf("GRANT %s ON %s.* TO %s", strings.Join(rights, ", "), database, user))
		defer e.exec(fmt.Sprintf("REVOKE %s ON %s.* FROM %s", strings.Join(rights, ", "), database, user))
		db := e.open(func(config *mysql.Config) { config.User, config.Passwd = user, "few rights" })
		return e.set(append(options, partition.WithDefault())...).Maintain(e.limit(), db)
	}
	for i, right := range mysqlRights {
		rights := slices.Delete(slices.Clone(mysqlRights), i, i+1)
		steps, err := maintain(rights, partition.WithRetain(9), partition.WithKeep(keepAsOld))
		if err == nil || errors.Is(err, partition.ErrLocked) {
			t.Errorf("without %s: %v, %v, want that something fails", right, kinds(steps), err)
		}
		e.counts(44, rowsOf("events"))
	}
	archive := partition.WithArchive(func(context.Context, string) error { return nil })
	for i, option := range []partition.Option{partition.WithKeep(keepAsOld), archive, partition.WithAhead(4)} {
		if steps, err := maintain(mysqlRights, partition.WithRetain(9-i), option); err != nil {
			t.Errorf("%d: %v, %v", i, kinds(steps), err)
		}
	}
	e.want(-7, 4, "events_default MAXVALUE")
	e.counts(4, rowsOf("old_"+e.partition(-10)))
}
