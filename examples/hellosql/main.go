// Hellosql stores a user with database/sql.
package main

import (
	"context"
	"database/sql"
	"log"

	_ "github.com/mattn/go-sqlite3" // needs a C compiler

	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func main() {
	db, err := sql.Open("sqlite3", "hellosql.db")
	if err != nil {
		log.Fatal(err)
	}
	if err := insert(context.Background(), db); err != nil {
		log.Fatal(err)
	}
}

// insert needs a table users (id BIGINT PRIMARY KEY, name TEXT); on SQLite make the key an INTEGER.
func insert(ctx context.Context, db *sql.DB) error {
	l, err := sqllease.Open(ctx, db, sqldb.SQLite) // creates its table, leases a worker number
	if err != nil {
		return err
	}
	defer l.Close(ctx) // gives it back
	id, err := l.Generator().Next()
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO users (id, name) VALUES (?, ?)", id, "Ada")
	return err
}
