// Hellosql stores a user with database/sql.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	_ "github.com/mattn/go-sqlite3" // needs a C compiler

	"github.com/sqlflake/sqlflake/snowflake"
)

func main() {
	db, err := sql.Open("sqlite3", "hellosql.db")
	check(err)
	defer db.Close()
	_, err = db.Exec("CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, name TEXT)") // elsewhere BIGINT
	check(err)

	check(run(context.Background(), db))
	var id snowflake.ID
	check(db.QueryRow("SELECT max(id) FROM users").Scan(&id))
	fmt.Println("Ada is", id)
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}
