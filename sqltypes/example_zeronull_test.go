package sqltypes_test

import (
	"encoding/json"
	"fmt"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// A folder at the top has no parent: NULL for the foreign key, not 0.
func ExampleZeroNull() {
	type Folder struct {
		ID       snowflake.ID      `json:"id"`
		ParentID sqltypes.ZeroNull `json:"parent_id"`
		Parent   *Folder           `json:"-"`
	}
	db, err := gorm.Open(sqlite.Open(":memory:?_foreign_keys=on"), &gorm.Config{})
	if err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(&Folder{}); err != nil {
		panic(err)
	}
	if err := db.Create([]Folder{{ID: 1001}, {ID: 1002, ParentID: 1001}}).Error; err != nil {
		panic(err)
	}
	var top []Folder
	err = db.Where("parent_id IS NULL").Find(&top).Error
	text, _ := json.Marshal(top)
	fmt.Println(string(text), err)
	// Output: [{"id":"1001","parent_id":null}] <nil>
}

// A model may hold a plain ID and be converted for Scan.
func ExampleZeroNull_Scan() {
	parent := snowflake.ID(42)
	for _, column := range []any{int64(7), nil, "x"} {
		err := (*sqltypes.ZeroNull)(&parent).Scan(column)
		fmt.Println(parent, err)
	}
	// Output:
	// 7 <nil>
	// 0 <nil>
	// 0 snowflake: string "x" is not an ID: want decimal digits only, byte 0 is "x"
}
