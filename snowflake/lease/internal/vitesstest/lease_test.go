//go:build linux

package vitesstest

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// TestMain makes the test binary an issuer or the tests.
func TestMain(m *testing.M) {
	_ = mysql.SetLogger(&mysql.NopLogger{}) // fails for nil only; the standard error of issuers is for notes
	processtest.Main(func(dsn string) (leasestore.Store, error) {
		db, err := sql.Open("mysql", dsn)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		return sqllease.New(db, sqldb.MySQL)
	})
	os.Exit(m.Run())
}

func TestVitess(t *testing.T) {
	v := start(t)
	t.Run("the store keeps the contract", func(t *testing.T) { keepContract(t, v.target("leases")) })
	t.Run("killed processes never repeat an ID", func(t *testing.T) {
		target := v.target("leases")
		processtest.KilledProcesses(t, target.DSN, store(t, target), processtest.NothingElse)
	})
	t.Run("processes that start at once have different workers", func(t *testing.T) {
		target := v.target("leases")
		db := target.Open(t)
		for _, table := range []string{"snowflake_leases", "snowflake_namespaces"} { // they create them again
			_, err := db.ExecContext(t.Context(), "DROP TABLE IF EXISTS "+table)
			must(t, err)
		}
		processtest.ProcessesStartedTogether(t, target.DSN, func() leasestore.Store { return store(t, target) })
	})
	t.Run("orders and their lines are in one shard, in pages and in time ranges", func(t *testing.T) { useShop(t, v) })
	t.Run("a repeated ID is refused", func(t *testing.T) { refuseRepeats(t, v) })
}

func TestTheREADMEShowsTheVschema(t *testing.T) {
	text, err := os.ReadFile("../../../../gormplugin/README.md")
	must(t, err)
	if !strings.Contains(string(text), vschema) {
		t.Errorf("want in gormplugin/README.md:\n%s", vschema)
	}
}

func store(t *testing.T, target testdb.Target) *sqllease.Store {
	t.Helper()
	db := target.Open(t)
	db.SetMaxOpenConns(10)
	s, err := sqllease.New(db, sqldb.MySQL)
	must(t, err)
	must(t, s.Migrate(t.Context()))
	return s
}

func keepContract(t *testing.T, target testdb.Target) {
	db := target.Open(t)
	leasetest.Run(t, func(t *testing.T) leasestore.Store { return store(t, target) }, leasetest.Settings{
		Require: func(tb testing.TB, _ leasestore.Store, namespace string) {
			tb.Helper()
			_, err := db.ExecContext(tb.Context(), "UPDATE snowflake_namespaces SET protocol = 3 WHERE namespace = ?", namespace)
			if err != nil {
				tb.Fatal(err)
			}
		},
	})
}
