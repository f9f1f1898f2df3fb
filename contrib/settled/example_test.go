package settled_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sqlflake/sqlflake/contrib/settled"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// A reader asks for the bound, then for the rows after the last one that it has and below the bound.
func ExampleRead() {
	read := func(ctx context.Context, db *sql.DB, last snowflake.ID) (snowflake.ID, error) {
		bound, err := settled.Read(ctx, db, sqldb.SQLite, snowflake.Default())
		if err != nil {
			return last, err
		}

		rows, err := db.QueryContext(ctx, "SELECT id, kind FROM events WHERE id > ? AND id < ? ORDER BY id", last,
			bound.Below)
		if err != nil {
			return last, err
		}
		defer rows.Close()

		for rows.Next() {
			var kind string
			if err := rows.Scan(&last, &kind); err != nil {
				return last, err
			}
			fmt.Println(kind)
		}
		return last, rows.Err()
	}

	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a database of its own

	const old = 175928847299117063 // of May 2026
	_, err = db.Exec("CREATE TABLE events (id INTEGER PRIMARY KEY, kind TEXT); "+
		"INSERT INTO events VALUES (?, 'ordered'), (?, 'paid')", old, old+1)
	if err != nil {
		panic(err)
	}
	last, err := read(context.Background(), db, 0)
	fmt.Println(last, err)
	// Output:
	// ordered
	// paid
	// 175928847299117064 <nil>
}
