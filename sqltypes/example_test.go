package sqltypes_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// A node of a tree: the root has no parent.
func ExampleNull() {
	type Node struct {
		ID     snowflake.ID  `json:"id"`
		Parent sqltypes.Null `json:"parent"`
	}
	root := Node{ID: 175928847299117063}
	child := Node{ID: 175928847303311367, Parent: sqltypes.NullFrom(root.ID)}
	if err := json.NewEncoder(os.Stdout).Encode([]Node{root, child}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [{"id":"175928847299117063","parent":null},{"id":"175928847303311367","parent":"175928847299117063"}]
}

// A cursor of a page that may be absent or empty, as in ?after=.
func ExampleNull_UnmarshalParam() {
	for _, address := range []string{"/orders?after=", "/orders?after=175928847299117063", "/orders?after=x"} {
		parsed, err := url.Parse(address)
		if err != nil {
			panic(err)
		}

		var after sqltypes.Null // gin and echo call UnmarshalParam for a field such as `form:"after"`
		if err := after.UnmarshalParam(parsed.Query().Get("after")); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(after.Valid, after.ID)
	}
	// Output:
	// false 0
	// true 175928847299117063
	// snowflake: text "x" is not an ID: want decimal digits only, byte 0 is "x"
}

// The column changes, and nothing that users see.
func ExampleText() {
	type Order struct {
		ID sqltypes.Text `json:"id" gorm:"size:13"`
	}
	order := Order{ID: sqltypes.Text(snowflake.ID(175928847299117063))}
	column, err := order.ID.Value()
	if err != nil {
		panic(err)
	}
	object, err := json.Marshal(order)
	if err != nil {
		panic(err)
	}
	fmt.Println("column:", column)
	fmt.Println("JSON:  ", string(object))

	err = order.ID.Scan("175928847299117063")
	fmt.Println(order.ID, err)
	// Output:
	// column: 04W86BB0G4007
	// JSON:   {"id":"175928847299117063"}
	// 0 snowflake: base32 "175928847299117063" is not an ID: want 13 characters, got 18
}
