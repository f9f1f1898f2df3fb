package segment_test

import (
	"context"
	"database/sql"
	"fmt"

	_ "github.com/mattn/go-sqlite3"

	"github.com/sqlflake/sqlflake/contrib/segment"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Order numbers that people read. What is left of the last block when the process ends becomes a gap.
func Example() {
	ctx := context.Background()
	db, err := sql.Open("sqlite3", "file:segment_example?mode=memory&cache=shared")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	if err := segment.Migrate(ctx, db, sqldb.SQLite); err != nil {
		panic(err)
	}

	for range 2 { // two processes, one after the other
		numbers, err := segment.Open(ctx, db, sqldb.SQLite, "orders", segment.WithBlock(100))
		if err != nil {
			panic(err)
		}
		for range 3 {
			number, err := numbers.Next(ctx)
			if err != nil {
				panic(err)
			}
			fmt.Print(number, " ")
		}
		if err := numbers.Close(); err != nil {
			panic(err)
		}
	}
	// Output: 1 2 3 101 102 103
}
