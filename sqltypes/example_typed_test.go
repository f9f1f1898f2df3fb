package sqltypes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

type account struct{}

func (account) Prefix() string { return "account" }

type invoice struct{}

func (invoice) Prefix() string { return "invoice" }

// The types that a program uses everywhere. Aliases keep all methods.
type (
	AccountID = sqltypes.Typed[account]
	InvoiceID = sqltypes.Typed[invoice]
)

// An invoice of an account: the compiler refuses Invoice{ID: accountID}.
func ExampleTyped() {
	type Invoice struct {
		ID        InvoiceID                   `json:"id"`
		AccountID AccountID                   `json:"account_id"`
		Replaces  sqltypes.TypedNull[invoice] `json:"replaces"`
	}
	i := Invoice{ID: 175928847303311367, AccountID: 175928847299117063}
	if err := json.NewEncoder(os.Stdout).Encode(i); err != nil {
		fmt.Println(err)
	}
	column, err := i.ID.Value()
	fmt.Println(column, err)
	// Output:
	// {"id":"invoice_04W86BB0M4007","account_id":"account_04W86BB0G4007","replaces":null}
	// 175928847303311367 <nil>
}

// A handler of GET /invoices/{id} tells a mistake of its caller from nonsense.
func ExampleParseTyped() {
	for _, param := range []string{"invoice_04W86BB0M4007", "account_04W86BB0G4007", "175928847303311367"} {
		id, err := sqltypes.ParseTyped[invoice](param)
		var wrong *sqltypes.PrefixError
		switch {
		case err == nil:
			fmt.Println("invoice", snowflake.ID(id))
		case errors.As(err, &wrong):
			fmt.Printf("404: this is the ID of an %s, not of an invoice\n", wrong.Got)
		default:
			fmt.Println("400:", err)
		}
	}
	// Output:
	// invoice 175928847303311367
	// 404: this is the ID of an account, not of an invoice
	// 400: snowflake: text "175928847303311367" is not an ID: it has no prefix, want "invoice_" and 13 characters of base 32
}

// The number of the row that a text stands for, to look at it with SQL: only the last 13 characters count.
func ExampleTyped_text() {
	text := AccountID(175928847299117063).String()
	id, err := snowflake.ParseBase32(text[len(text)-13:])
	fmt.Println(text, id, err)
	// Output:
	// account_04W86BB0G4007 175928847299117063 <nil>
}
