// Hello stores a user with GORM.
package main

import (
	"context"
	"encoding/json"
	"io"
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
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	db, err := gorm.Open(sqlite.Open("hello.db")) // or PostgreSQL, MySQL, MariaDB
	if err != nil {
		return err
	}

	plugin, err := gormplugin.Open(ctx, db) // leases a worker number in this database
	if err != nil {
		return err
	}
	defer plugin.Close(ctx) // gives it back

	if err := db.AutoMigrate(&User{}); err != nil {
		return err
	}

	ada := User{Name: "Ada"}
	if err := db.Create(&ada).Error; err != nil { // sets ada.ID, then inserts the row
		return err
	}

	return json.NewEncoder(out).Encode(ada)
}
