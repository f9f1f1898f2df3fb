package adopt_test

import (
	"fmt"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/adopt"
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

	// The table that is there, and its rows.
	type OldInvoice struct {
		gorm.Model
		Cents int
	}
	if err := db.Table("invoices").AutoMigrate(&OldInvoice{}); err != nil {
		panic(err)
	}
	db.Table("invoices").Create([]*OldInvoice{{Cents: 100}, {Cents: 200}})

	// The new version of the program.
	type Invoice struct {
		gormplugin.ModelSoftDelete
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

	// Old keys tell no time.
	var before, old int64
	db.Model(&Invoice{}).Where(gormplugin.CreatedBefore(time.Now().Add(time.Hour))).Count(&before)
	db.Model(&Invoice{}).Where("id < ?", 3).Count(&old)
	fmt.Println(before, old)
	// Output:
	// true 100
	// true 200
	// false 300
	// 1 2
}
