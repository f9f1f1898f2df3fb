package sqltypes_test

import (
	"encoding/json"
	"fmt"
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

func ExampleNull_Scan() {
	var parent sqltypes.Null
	for _, column := range []any{int64(175928847299117063), nil, 1.75e17} {
		err := parent.Scan(column)
		fmt.Println(parent.Valid, parent.ID, err)
	}
	// Output:
	// true 175928847299117063 <nil>
	// false 0 <nil>
	// false 0 snowflake: float64 "1.75e+17" is not an ID: digits are lost above 2^53; the column looks like REAL, DOUBLE or FLOAT, make it BIGINT (INTEGER on SQLite)
}
