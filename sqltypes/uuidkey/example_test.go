package uuidkey_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/sqlflake/sqlflake/snowflake"
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
	// true snowflake: string "2c5ea4c0-4067-41e9-8bad-9b1deb4d3b7d" is not an ID: its version is 4, want 8
}

// The rows of a day in a column of UUIDs.
func ExampleID_range() {
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	lo, hi, err := snowflake.Default().Range(day, day.AddDate(0, 0, 1))
	if err != nil {
		panic(err)
	}
	fmt.Println("id >=", uuidkey.UUID(lo)) // a query takes uuidkey.ID(lo)
	fmt.Println("id < ", uuidkey.UUID(hi))
	// Output:
	// id >= 0221e218-0000-8000-8200-000000000000
	// id <  02232baf-0000-8000-8200-000000000000
}

// A column with UUIDs of all kinds is read into a uuid.UUID first.
func ExampleID_Scan() {
	for _, text := range []string{"0271065a-c102-8000-9e00-000000000000", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"} {
		column := uuid.MustParse(text)
		var id uuidkey.ID
		err := id.Scan(column)
		fmt.Println(id, err)
	}
	// Output:
	// 175928847299117063 <nil>
	// 0 snowflake: uuid.UUID "017f22e2-79b0-7cc3-98c4-dc0c0c07398f" is not an ID: its version is 7, want 8
}
