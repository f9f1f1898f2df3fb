// Quickstart stores users with their orders, each with a key that GORM never asks the database for.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// User is a row of users.
type User struct {
	gormplugin.Model         // the key, and the times of creation and update
	Name             string  `json:"name"`
	Orders           []Order `json:"orders"`
}

// Order is a row of orders.
type Order struct {
	gormplugin.Model
	UserID snowflake.ID `json:"user_id" gorm:"index;not null"`
	Cents  int64        `json:"cents"`
}

func main() { run(context.Background(), sqlite.Open("quickstart.db"), os.Stdout) }

func run(ctx context.Context, dialector gorm.Dialector, out io.Writer) {
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	check(err)
	plugin, err := gormplugin.Open(ctx, db) // leases a worker number in this database
	check(err)
	defer plugin.Close(ctx) // gives it back

	check(db.AutoMigrate(&User{}, &Order{}))
	users := []User{{Name: "Ada", Orders: []Order{{Cents: 80}, {Cents: 399}}}, {Name: "Grace"}}
	check(db.Create(&users).Error) // one statement per table

	for _, u := range users {
		fmt.Fprintf(out, "%-5s is %d: %v\n", u.Name, u.ID, snowflake.Default().Decompose(u.ID))
	}

	var ada User // of the last minute, a range of keys; in a burst, IDs lead the clock
	lastMinute := gormplugin.CreatedBetween(time.Now().Add(-time.Minute), time.Now().Add(time.Minute))
	check(db.Preload("Orders").Where(lastMinute).Last(&ada, "name = ?", "Ada").Error)

	text, err := json.MarshalIndent(ada, "", "  ")
	check(err)
	fmt.Fprintf(out, "In JSON keys are strings, because JavaScript would round the numbers:\n%s\n", text)
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}
