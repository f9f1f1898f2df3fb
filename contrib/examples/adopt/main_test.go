package main

import (
	"os"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// The models of the old version: the database makes the keys.
type user struct {
	gorm.Model
	Orders []order
}

type order struct {
	gorm.Model
	UserID uint `gorm:"index;not null"`
}

func TestAShopIsAdoptedOnEveryDatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		dialector := gormdb.Dialector(target)
		old, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
		exampletest.Must(t, err)
		exampletest.Must(t, old.AutoMigrate(&user{}, &order{}))
		exampletest.Must(t, old.Create([]*user{{Orders: make([]order, 2)}, {}}).Error)

		var out strings.Builder
		exampletest.Must(t, run(t.Context(), dialector, false, &out))
		if target.Name == "postgres" { // elsewhere the key is beside that of a new row
			exampletest.Must(t, old.Create(&user{}).Error)
			exampletest.Must(t, old.Unscoped().Delete(&user{}, 3).Error)
		}
		exampletest.Must(t, run(t.Context(), dialector, true, &out))
		exampletest.Check(t, out.String(), `user 1 has 2 orders
user 2 has 0 orders
user <1> has 2 orders
user 1 has 2 orders
user 2 has 0 orders
user <1> has 2 orders
user <2> has 2 orders
`)
		// SQLite gives a row without a key the next number, the others reject it.
		if err := old.Create(&user{}).Error; (err == nil) != (target.Name == "sqlite") {
			t.Errorf("an old process: error %v", err)
		}
	})
}
