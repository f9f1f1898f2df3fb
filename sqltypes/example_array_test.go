package sqltypes_test

import (
	"encoding/json"
	"fmt"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// The text for PostgreSQL and the JSON for a browser.
func ExampleArray() {
	ids := []snowflake.ID{175928847299117063, 175928847303311367}
	parameter, err := sqltypes.ArrayOf(ids).Value()
	if err != nil {
		panic(err)
	}
	fmt.Println(parameter)
	text, err := json.Marshal(sqltypes.ArrayOf(ids))
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
	// Output:
	// {175928847299117063,175928847303311367}
	// ["175928847299117063","175928847303311367"]
}

func ExampleArray_Scan() {
	var members sqltypes.Array[snowflake.ID]
	for _, column := range []any{"{7,8}", "{}", nil, "{7,NULL}"} {
		if err := members.Scan(column); err != nil {
			fmt.Println(err)
		}
		fmt.Println(members, members == nil)
	}
	// Output:
	// [7 8] false
	// [] false
	// [] true
	// sqltypes: string "{7,NULL}" is not an array of IDs: the element at index 1 is NULL, remove it with array_remove(ids, NULL)
	// [] true
}

// SQLite has no arrays. There, a parameter or a column of IDs is JSON.
func ExampleArray_JSONNumbers() {
	type Team struct {
		ID      snowflake.ID
		Members []snowflake.ID `gorm:"serializer:json;type:text"`
	}
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{})
	if err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(&Team{}); err != nil {
		panic(err)
	}
	db.Create([]Team{{ID: 1001, Members: []snowflake.ID{7, 8}}, {ID: 1002}, {ID: 1003, Members: []snowflake.ID{8}}})

	wanted := sqltypes.Array[snowflake.ID]{1001, 1003}
	var teams []Team
	err = db.Where("id IN (SELECT value FROM json_each(?))", wanted.JSONNumbers()).Find(&teams).Error
	fmt.Println(teams, err)

	// The teams of a member. The column holds strings.
	err = db.Where("? IN (SELECT CAST(value AS INTEGER) FROM json_each(members))", snowflake.ID(7)).Find(&teams).Error
	fmt.Println(teams, err)
	// Output:
	// [{1001 [7 8]} {1003 [8]}] <nil>
	// [{1001 [7 8]}] <nil>
}
