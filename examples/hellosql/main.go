// Hellosql stores a user with database/sql.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	_ "github.com/mattn/go-sqlite3" // needs a C compiler

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func main() {
	db, err := sql.Open("sqlite3", "hellosql.db")
	if err == nil {
		_, err = db.Exec("CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, name TEXT)") // elsewhere BIGINT
	}
	if err == nil {
		err = insert(context.Background(), db)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func insert(ctx context.Context, db *sql.DB) error {
	store, err := sqllease.New(db, sqldb.SQLite) // or sqldb.Postgres, sqldb.MySQL
	if err != nil {
		return err
	}
	if err := store.Migrate(ctx); err != nil { // creates the lease table
		return err
	}
	l, err := lease.Open(ctx, store) // leases a worker number
	if err != nil {
		return err
	}
	defer l.Close(ctx) // gives it back
	id, err := l.Generator().Next()
	if err != nil {
		return err
	}
	fmt.Println("Ada is", id)
	_, err = db.ExecContext(ctx, "INSERT INTO users (id, name) VALUES (?, ?)", id, "Ada")
	return err
}
