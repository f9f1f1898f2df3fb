package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/examples/internal/exampletest"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
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
		lastHour := time.Now().Add(-time.Hour)
		made := gorm.Model{CreatedAt: lastHour}
		exampletest.Must(t, old.Create([]*user{{Model: made, Orders: []order{{Model: made}, {Model: made}}}, {Model: made}}).Error)

		var out strings.Builder
		exampletest.Must(t, run(t.Context(), dialector, false, false, &out))
		if target.Name == "postgres" { // elsewhere the key is beside that of a new row
			exampletest.Must(t, old.Create(&user{}).Error)
			exampletest.Must(t, old.Unscoped().Delete(&user{}, 3).Error)
		}
		exampletest.Must(t, run(t.Context(), dialector, true, false, &out))
		exampletest.Check(t, out.String(), `user 1 has 2 orders
user 2 has 0 orders
user <1> has 2 orders
user 1 has 2 orders
user 2 has 0 orders
user <1> has 2 orders
user <2> has 2 orders
`)
		out.Reset()
		exampletest.Must(t, run(t.Context(), dialector, true, true, &out))
		exampletest.Check(t, out.String(), `4 new keys, references to no row: map[]
user <1> has 2 orders
user <2> has 0 orders
user <3> has 2 orders
user <4> has 2 orders
user <5> has 2 orders
`)
		var users []user
		found := gormplugin.CreatedBetween(lastHour.Add(-time.Second), lastHour.Add(time.Second)).In(snowflake.Default())
		exampletest.Must(t, old.Preload("Orders").Where(found).Order("id").Find(&users).Error)
		if len(users) != 2 || len(users[0].Orders) != 2 || users[0].ID < 1e15 {
			t.Errorf("the rows of an hour ago: %+v", users)
		}
		// SQLite gives a row without a key the next number, the others reject it.
		if err := old.Create(&user{}).Error; (err == nil) != (target.Name == "sqlite") {
			t.Errorf("an old process: error %v", err)
		}
	})
}
