// Hello stores a user with GORM.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"gorm.io/driver/sqlite" // needs a C compiler
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
)

type User struct {
	gormplugin.Model        // ID, CreatedAt, UpdatedAt
	Name             string `json:"name"`
}

func main() {
	db, err := gorm.Open(sqlite.Open("hello.db")) // or PostgreSQL, MySQL, MariaDB
	check(err)
	plugin, err := gormplugin.Open(context.Background(), db) // leases a worker number in this database
	check(err)
	defer plugin.Close(context.Background()) // gives it back

	check(db.AutoMigrate(&User{}))
	ada := User{Name: "Ada"}
	check(db.Create(&ada).Error)                  // sets ada.ID, then inserts the row
	check(json.NewEncoder(os.Stdout).Encode(ada)) // {"id":"250263666560077824",...,"name":"Ada"}
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}
