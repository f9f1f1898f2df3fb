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
)

type Order struct {
	gormplugin.Model
	Customer string `json:"customer"`
}

func open(gen *gormtest.Generator) *gorm.DB {
	config := &gorm.Config{NowFunc: gen.Now, Logger: logger.Discard}
	db, err := gorm.Open(sqlite.Open(":memory:"), config, gormplugin.New(gen))
	if err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(&Order{}); err != nil {
		panic(err)
	}
	return db
}

// The JSON of a row that was created is the same in every run, its times included.
func Example() {
	gen := gormtest.New(time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC))
	db := open(gen)

	order := Order{Customer: "Ada"}
	if err := db.Create(&order).Error; err != nil {
		panic(err)
	}
	golden, err := json.MarshalIndent(order, "", "  ")
	if err != nil {
		panic(err)
	}
	fmt.Println(string(golden))
	// Output:
	// {
	//   "id": "132861478830080000",
	//   "created_at": "2026-01-02T15:04:05Z",
	//   "updated_at": "2026-01-02T15:04:05Z",
	//   "customer": "Ada"
	// }
}

// Rows of other times, here one of last year, for tests of what happens to old rows.
func ExampleGenerator_SetTime() {
	gen := gormtest.New(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), gormtest.WithStep(time.Hour))
	db := open(gen)
	db.Create(&[]Order{{Customer: "Ada"}, {Customer: "Grace"}})
	gen.SetTime(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
	db.Create(&Order{Customer: "Edsger"})

	db.Delete(&Order{}, gormplugin.CreatedBefore(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	var left []string
	db.Model(&Order{}).Pluck("customer", &left)
	fmt.Println(left)
	// Output: [Ada Grace]
}

// What the code under test does when there are no IDs.
func ExampleGenerator_FailAfter() {
	gen := gormtest.New(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	db := open(gen)
	lost := errors.New("the lease is lost")
	gen.FailAfter(1, lost)

	for _, name := range []string{"Ada", "Grace"} {
		if err := db.Create(&Order{Customer: name}).Error; errors.Is(err, lost) {
			fmt.Println("no ID for", name)
		}
	}
	var n int64
	db.Model(&Order{}).Count(&n)
	fmt.Println("orders:", n)
	// Output:
	// no ID for Grace
	// orders: 1
}

func ExampleGenerator_Pin() {
	gen := gormtest.New(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	db := open(gen)
	gen.Pin(4711)

	order := Order{Customer: "Ada"}
	db.Create(&order)
	fmt.Println(order.ID)
	// Output: 4711
}
