package main

import (
	"os"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/examples/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

const want = `user 1 has 2 orders
user 2 has 0 orders
user 3 has 0 orders
user <1> has 2 orders
A remaining old process is rejected: `

func TestTheShopIsAdoptedOnEveryDatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		dialector, rejected := sqlite.New(sqlite.Config{Conn: target.Open(t)}), "false\n"
		switch target.Name {
		case "postgres":
			dialector, rejected = postgres.New(postgres.Config{Conn: target.Open(t)}), "true\n"
		case "mariadb":
			dialector, rejected = mysql.New(mysql.Config{Conn: target.Open(t)}), "true\n"
		}
		var out strings.Builder
		if err := run(t.Context(), dialector, &out); err != nil {
			t.Fatal(err)
		}
		exampletest.Check(t, out.String(), want+rejected)

		// A table that existed before is not touched.
		db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.AutoMigrate(&User{}); err != nil { // also: the first run has dropped its table
			t.Fatal(err)
		}
		if err := run(t.Context(), dialector, &out); err == nil || !db.Migrator().HasTable(&User{}) {
			t.Errorf("beside a table of somebody: error %v, or the table was dropped", err)
		}
	})
}
