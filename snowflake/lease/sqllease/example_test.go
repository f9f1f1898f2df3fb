package sqllease_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	_ "github.com/mattn/go-sqlite3" // a driver for database/sql

	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func ExampleOpen() {
	ctx, db := context.Background(), openDB()      // of sql.Open; the table users is there
	l, err := sqllease.Open(ctx, db, sqldb.SQLite) // or Postgres, MySQL: creates the lease table, takes a worker
	if err != nil {
		panic(err)
	}
	defer func() { _ = l.Close(ctx) }() // gives it back
	id, err := l.Generator().Next()
	if err == nil {
		_, err = db.ExecContext(ctx, "INSERT INTO users (id, name) VALUES (?, ?)", id, "Ada")
	}
	fmt.Println(l.Generator().Worker(), err)
	// Output: 0 <nil>
}

// openDB stands for sql.Open of the program.
func openDB() *sql.DB {
	slog.SetLogLoggerLevel(slog.LevelWarn)
	db, err := sql.Open("sqlite3", "file:example?mode=memory&cache=shared")
	if err == nil {
		_, err = db.ExecContext(context.Background(), "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
	}
	if err != nil {
		panic(err)
	}
	return db
}
