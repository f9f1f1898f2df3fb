package adopt_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// The default schema has a table of the same name.
func TestDropAutoIncrementKeepsToTheSchema(t *testing.T) {
	for name, call := range map[string]func(db *gorm.DB, space string) error{
		"Table": func(db *gorm.DB, space string) error {
			return adopt.DropAutoIncrement(db.Table(space+".old_groups"), &oldGroup{})
		},
		"prefix of the names": func(db *gorm.DB, space string) error {
			db = db.Session(&gorm.Session{NewDB: true})
			db.NamingStrategy = schema.NamingStrategy{TablePrefix: space + "."}
			type OldGroup struct{ ID uint64 }
			return adopt.DropAutoIncrement(db, &OldGroup{})
		},
	} {
		for _, server := range []struct {
			open                func(testing.TB) testdb.Target
			here, create, table string
		}{
			{testdb.Postgres, "SELECT current_schema()", "CREATE SCHEMA ", "(id bigserial PRIMARY KEY, name text)"},
			{testdb.MariaDB, "SELECT database()", "CREATE DATABASE ", "(id bigint AUTO_INCREMENT PRIMARY KEY, name text)"},
		} {
			t.Run(name, func(t *testing.T) {
				db := plain(t, server.open(t))
				var here string
				must(t, db.Raw(server.here).Scan(&here))
				space := here + "_other"
				db.exec(t, server.create+space, "CREATE TABLE old_groups "+server.table,
					"CREATE TABLE "+space+".old_groups "+server.table)
				t.Cleanup(func() {
					cascade := map[string]string{"postgres": "SCHEMA " + space + " CASCADE", "mysql": "DATABASE " + space}
					db.exec(t, "DROP "+cascade[db.Name()])
				})
				if err := call(db.DB, space); err != nil {
					t.Fatal(err)
				}
				equal(t, "the table that was not named", db.column(t, "old_groups", "id").Made, true)
				if err := db.Exec("INSERT INTO " + space + ".old_groups (name) VALUES ('x')").Error; err == nil {
					t.Error("the named table still makes keys")
				}
			})
		}
	}
}

func TestDropAutoIncrementRefusesAnExpressionAsTable(t *testing.T) {
	eachPlain(t, func(t *testing.T, db *env) {
		for _, table := range []*gorm.DB{db.Table("old_groups AS g"), db.Table("(?) AS old_groups", db.Model(&oldGroup{}))} {
			if err := adopt.DropAutoIncrement(table, &oldGroup{}); !errors.Is(err, adopt.ErrNoTable) {
				t.Errorf("error %v, want ErrNoTable", err)
			}
		}
		equal(t, "old_groups.id", db.column(t, "old_groups", "id").Made, true)
	}, &oldGroup{})
}

func TestTableOfAnAttachedFileIsRefused(t *testing.T) {
	db := plain(t, testdb.SQLite(t), &oldGroup{})
	before := db.statements(t)
	err := adopt.DropAutoIncrement(db.Table("aux.old_groups"), &oldGroup{})
	equal(t, "ErrAutoIncrementKept", errors.Is(err, adopt.ErrAutoIncrementKept), true)
	equal(t, "statements", db.statements(t), before)
	if err := adopt.DropAutoIncrement(db.Table("main.old_groups"), &oldGroup{}); err != nil {
		t.Fatal(err)
	}
	_, counted := db.definitions(t)
	equal(t, "counters", len(counted), 0)
}
