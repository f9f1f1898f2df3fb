package sqltypes_test

import (
	"encoding/json"
	"fmt"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/sqltypes"
)

type account struct{}

func (account) Prefix() string { return "account" }

type invoice struct{}

func (invoice) Prefix() string { return "invoice" }

// The types that the program uses. Aliases keep all methods.
type (
	AccountID = sqltypes.Typed[account]
	InvoiceID = sqltypes.Typed[invoice]
)

// The compiler rejects Invoice{ID: accountID}. A pointer may be NULL.
func ExampleTyped() {
	type Invoice struct {
		ID        InvoiceID  `json:"id"`
		AccountID AccountID  `json:"account_id"`
		Replaces  *InvoiceID `json:"replaces"`
	}
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{})
	if err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(&Invoice{}); err != nil {
		panic(err)
	}
	first := Invoice{ID: 175928847303311367, AccountID: 175928847299117063}
	second := Invoice{ID: 175928847303311368, AccountID: first.AccountID, Replaces: &first.ID}
	db.Create([]*Invoice{&first, &second})

	var invoices []Invoice
	err = db.Order("id").Find(&invoices).Error
	for _, i := range invoices {
		text, _ := json.Marshal(i)
		fmt.Println(string(text))
	}
	var columns []int64
	db.Model(&Invoice{}).Order("id").Pluck("id", &columns)
	fmt.Println(columns, err)
	// Output:
	// {"id":"invoice_04W86BB0M4007","account_id":"account_04W86BB0G4007","replaces":null}
	// {"id":"invoice_04W86BB0M4008","account_id":"account_04W86BB0G4007","replaces":"invoice_04W86BB0M4007"}
	// [175928847303311367 175928847303311368] <nil>
}
