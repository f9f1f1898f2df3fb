package main

import (
	"os"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/examples/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

const want = `user 1 has 2 orders
user 2 has 0 orders
user 3 has 0 orders
user <1> has 2 orders
A remaining old process is rejected: `

func TestTheShopIsAdoptedOnEveryDatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		dialector, rejected := gormdb.Dialector(target), "true\n"
		if target.Name == "sqlite" {
			rejected = "false\n"
		}
		var out strings.Builder
		exampletest.Must(t, run(t.Context(), dialector, &out))
		exampletest.Check(t, out.String(), want+rejected)

		// A table that existed before is not touched.
		db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
		exampletest.Must(t, err)
		exampletest.Must(t, db.AutoMigrate(&User{})) // also: the first run has dropped its table
		if err := run(t.Context(), dialector, &out); err == nil || !db.Migrator().HasTable(&User{}) {
			t.Errorf("beside a table of somebody: error %v, or the table was dropped", err)
		}
	})
}
