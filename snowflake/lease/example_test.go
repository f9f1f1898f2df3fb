package lease_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"gorm.io/driver/sqlite" // brings a driver for database/sql
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

var quiet = lease.WithLogger(slog.New(slog.DiscardHandler))

// openDB stands for sql.Open of the program.
func openDB() *sql.DB {
	db, err := gorm.Open(sqlite.Open("file:example?mode=memory&cache=shared"), &gorm.Config{})
	if err != nil {
		panic(err)
	}
	pool, err := db.DB()
	if err != nil {
		panic(err)
	}
	return pool
}

func Example() {
	ctx := context.Background()
	store, err := sqllease.New(openDB(), sqldb.SQLite) // or sqldb.Postgres, sqldb.MySQL
	if err != nil {
		panic(err)
	}
	if err := store.Migrate(ctx); err != nil { // creates the table if it does not exist
		panic(err)
	}
	l, err := lease.Open(ctx, store, quiet) // logs to slog.Default() without an option
	if err != nil {
		panic(err)
	}
	id, err := l.Generator().Next() // a generator like that of snowflake.New
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Generator().Layout().Decompose(id).Worker)
	if err := l.Close(ctx); err != nil { // gives the worker back
		panic(err)
	}
	// Output: 0
}
