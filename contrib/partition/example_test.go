package partition_test

import (
	"fmt"
	"log"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func ExampleSet_TableOptions() {
	events, err := partition.New(sqldb.Postgres, "events", partition.Month, partition.WithRetain(12))
	if err != nil {
		log.Fatal(err)
	}
	options, err := events.TableOptions()
	fmt.Println(options, err)
	// CREATE TABLE events (id bigint PRIMARY KEY, body text) PARTITION BY RANGE ("id")

	// Output: PARTITION BY RANGE ("id") <nil>
}
