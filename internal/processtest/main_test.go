package processtest

import (
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func TestMain(m *testing.M) {
	_ = mysql.SetLogger(&mysql.NopLogger{}) // fails for nil only; the standard error of issuers is for notes
	Main(func(text string) (leasestore.Store, error) {
		store, _, err := parsePlace(text).open()
		return store, err
	})
	os.Exit(testdb.Main(m))
}
