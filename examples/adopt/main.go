// Adopt moves a shop from auto-increment keys to IDs without changing a row: new models, old and new writers side by
// side, and at last DropAutoIncrement. The comment of package adopt has the order of a rollout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/snowflake"
)

// The old models of the tables users and orders: the database makes the keys.
type user struct {
	gorm.Model
	Orders []order
}

type order struct {
	gorm.Model
	UserID uint `gorm:"index;not null"`
}

// User is the new model. Only the embedded struct and the types of references differ, so AutoMigrate changes nothing.
type User struct {
	gormplugin.ModelSoftDelete
	Orders []Order
}

// Order is what a user has bought.
type Order struct {
	gormplugin.ModelSoftDelete
	UserID snowflake.ID `gorm:"index;not null"`
}

func main() {
	dsn := flag.String("dsn", "", "`DSN` of PostgreSQL or MySQL (with parseTime=true) to use instead of SQLite")
	flag.Parse()
	dialector := sqlite.Open("file:adopt?mode=memory&cache=shared&_foreign_keys=on")
	if strings.HasPrefix(*dsn, "postgres") {
		dialector = postgres.Open(*dsn)
	} else if *dsn != "" {
		dialector = mysql.Open(*dsn)
	}
	if err := run(context.Background(), dialector, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dialector gorm.Dialector, out io.Writer) (err error) {
	config := &gorm.Config{Logger: logger.Discard}
	old, err := gorm.Open(dialector, config)
	if err != nil {
		return err
	}
	old = old.WithContext(ctx)
	if old.Migrator().HasTable(&user{}) || old.Migrator().HasTable(&order{}) {
		return errors.New("the table users or orders already exists")
	}
	defer func() { err = errors.Join(err, old.Migrator().DropTable(&order{}, &user{})) }()
	if err := old.AutoMigrate(&user{}, &order{}); err != nil {
		return err
	}
	if err := old.Create([]*user{{Orders: make([]order, 2)}, {}, {}}).Error; err != nil {
		return err
	}

	// The new version of the program. WithMinID takes the greatest old key of all tables plus 1, or more.
	gen, err := snowflake.New(1) // gormplugin.Open leases the number, for several processes
	if err != nil {
		return err
	}
	db, err := gorm.Open(dialector, config, gormplugin.New(gen, gormplugin.WithMinID(1_000_000)))
	if err != nil {
		return err
	}
	db = db.WithContext(ctx)
	if err := db.Create(&User{Orders: make([]Order, 2)}).Error; err != nil {
		return err
	}
	// An old process would now get key 4 on PostgreSQL. On MySQL and SQLite it would get the new user's key plus 1,
	// which the generator may issue too: stop the old writers first there, or let both retry.

	// The last step, when no old process is left. A second call changes nothing.
	if err := adopt.DropAutoIncrement(db, &User{}, &Order{}); err != nil {
		return err
	}
	var users []User
	if err := db.Preload("Orders").Order("id").Find(&users).Error; err != nil {
		return err
	}
	for _, u := range users {
		fmt.Fprintf(out, "user %d has %d orders\n", u.ID, len(u.Orders))
	}
	err = old.Create(&user{}).Error // SQLite gives a row without a key the next number, the others reject it
	fmt.Fprintln(out, "A remaining old process is rejected:", err != nil)
	return nil
}
