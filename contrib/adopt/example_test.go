package adopt_test

import (
	"fmt"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/contrib/adopt"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

func ExampleDropAutoIncrement() {
	gen, err := snowflake.New(1)
	if err != nil {
		panic(err)
	}
	plugin := gormplugin.New(gen, gormplugin.WithMinID(3)) // the greatest key of the old rows, plus 1
	db, err := gorm.Open(sqlite.Open("file:adopted?mode=memory&cache=shared"), plugin)
	if err != nil {
		panic(err)
	}
	db.Exec("CREATE TABLE invoices (id integer PRIMARY KEY AUTOINCREMENT, cents integer)") // it is there, with its rows
	db.Exec("INSERT INTO invoices (cents) VALUES (100), (200)")

	type Invoice struct {
		ID    snowflake.ID `gorm:"primaryKey;type:int"`
		Cents int
	}
	if err := adopt.DropAutoIncrement(db, &Invoice{}); err != nil {
		panic(err)
	}
	db.Create(&Invoice{Cents: 300})

	var invoices []Invoice
	db.Order("id").Find(&invoices)
	for _, invoice := range invoices {
		fmt.Println(invoice.ID < 3, invoice.Cents)
	}
	var dated int64 // old keys tell no time
	db.Model(&Invoice{}).Where(gormplugin.CreatedBefore(time.Now().Add(time.Hour))).Count(&dated)
	fmt.Println(dated)
	// Output:
	// true 100
	// true 200
	// false 300
	// 1
}
