package sqltypes_test

import (
	"fmt"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

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
