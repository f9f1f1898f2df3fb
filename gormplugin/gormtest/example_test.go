package gormtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/snowflake"
)

type Order struct {
	gormplugin.Model
	Customer string `json:"customer"`
}

// The JSON of a row that was created is the same in every run, its times included.
func Example() {
	gen := gormtest.New(snowflake.Default(), time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), time.Millisecond)
	config := &gorm.Config{NowFunc: gen.Now, Logger: logger.Discard}
	db, err := gorm.Open(sqlite.Open(":memory:"), config, gormplugin.New(gen))
	if err != nil {
		panic(err)
	}

	if err := db.AutoMigrate(&Order{}); err != nil {
		panic(err)
	}

	order := Order{Customer: "Ada"}
	db.Create(&order)
	golden, err := json.Marshal(order)
	fmt.Println(string(golden), err)

	gen.SetTime(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)) // what happens to rows of last year
	db.Create(&Order{Customer: "Grace"})
	fmt.Println(db.Delete(&Order{}, gormplugin.CreatedBefore(order.CreatedAt)).RowsAffected, "row deleted")

	lost := errors.New("the lease is lost")
	gen.FailAfter(0, lost) // what happens without IDs
	fmt.Println(errors.Is(db.Create(&Order{Customer: "Edsger"}).Error, lost))
	// Output:
	// {"id":"132861478830080000","created_at":"2026-01-02T15:04:05Z","updated_at":"2026-01-02T15:04:05Z","customer":"Ada"} <nil>
	// 1 row deleted
	// true
}
