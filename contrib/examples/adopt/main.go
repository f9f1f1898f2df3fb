// Adopt is the new version of a shop whose tables have auto-increment keys: new rows get IDs, and no row changes. When
// the last process of the old version has ended, run it once with -finish. The README of package adopt has the order of
// a rollout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"gorm.io/driver/sqlite" // or PostgreSQL, MySQL, MariaDB
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/contrib/adopt"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// User had a gorm.Model, whose key is a uint. AutoMigrate changes nothing for the new one.
type User struct {
	gormplugin.ModelSoftDelete
	Orders []Order
}

// Order also had a gorm.Model, and a uint as UserID.
type Order struct {
	gormplugin.ModelSoftDelete
	UserID snowflake.ID `gorm:"index;not null"`
}

func main() {
	finish := flag.Bool("finish", false, "take auto-increment from the tables; no old process may run")
	flag.Parse()

	if err := run(context.Background(), sqlite.Open("shop.db"), *finish, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dialector gorm.Dialector, finish bool, out io.Writer) (err error) {
	db, err := gorm.Open(dialector)
	if err != nil {
		return err
	}

	// More than the greatest old key, also of the rows that old processes still insert. IDs are greater than 10^17.
	plugin, err := gormplugin.Open(ctx, db, gormplugin.WithMinID(1_000_000_000_000))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugin.Close(ctx)) }()

	if err := db.AutoMigrate(&User{}, &Order{}); err != nil {
		return err
	}

	if finish { // a second call changes nothing
		if err := adopt.DropAutoIncrement(db, &User{}, &Order{}); err != nil {
			return err
		}
	}

	// On PostgreSQL an old process still gets the next small key. On MySQL and SQLite it gets the new user's key
	// plus 1, which the generator may issue too: stop the old processes first there, or let both retry.
	if err := db.Create(&User{Orders: make([]Order, 2)}).Error; err != nil {
		return err
	}

	var users []User
	err = db.Preload("Orders").Order("id").Find(&users).Error
	for _, u := range users {
		fmt.Fprintf(out, "user %d has %d orders\n", u.ID, len(u.Orders))
	}
	return err
}
