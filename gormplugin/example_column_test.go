package gormplugin_test

import (
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Invoice has a key that is the rowid on SQLite.
type Invoice struct {
	ID    snowflake.ID `gorm:"primaryKey;type:int"`
	Cents int64
}

func Example_integerKey() {
	db := openExample(&Invoice{})

	columns, err := db.Migrator().ColumnTypes(&Invoice{})
	if err != nil {
		panic(err)
	}
	fmt.Println(columns[0].Name(), columns[0].DatabaseTypeName())
	// Output: id integer
}
