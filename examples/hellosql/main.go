// Hellosql stores a user with database/sql.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	_ "github.com/mattn/go-sqlite3" // needs a C compiler

	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func main() {
	db, err := sql.Open("sqlite3", "hellosql.db")
	if err == nil {
		_, err = db.Exec("CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, name TEXT)") // elsewhere BIGINT
	}
	if err == nil {
		err = run(context.Background(), db)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, db *sql.DB) error {
	l, err := sqllease.Open(ctx, db, sqldb.SQLite) // once per process; or sqldb.Postgres, sqldb.MySQL
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
