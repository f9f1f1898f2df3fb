package uuidkey_test

import (
	"errors"
	"fmt"

	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

func ExampleID() {
	key := uuidkey.ID(175928847299117063)
	column, err := key.Value()
	if err != nil {
		panic(err)
	}
	fmt.Println(column)
	fmt.Println(key) // as in JSON, URLs and logs

	err = key.Scan("2c5ea4c0-4067-41e9-8bad-9b1deb4d3b7d")
	fmt.Println(errors.Is(err, uuidkey.ErrForeign), err)
	// Output:
	// 0271065a-c102-8000-9e00-000000000000
	// 175928847299117063
	// true snowflake: string "2c5ea4c0-4067-41e9-8bad-9b1deb4d3b7d" is not an ID: its version is 4, want 8 with an ID, a 1 and zeros
}
