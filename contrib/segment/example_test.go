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
	check(err)
	defer db.Close()
	check(segment.Migrate(ctx, db, sqldb.SQLite))

	for range 2 { // two processes, one after the other
		numbers, err := segment.Open(ctx, db, sqldb.SQLite, "orders", segment.WithBlock(100))
		check(err)
		for range 3 {
			number, err := numbers.Next(ctx)
			check(err)
			fmt.Print(number, " ")
		}
		check(numbers.Close())
	}
	// Output: 1 2 3 101 102 103
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
