package partition_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// A table with millions of rows gets partitions of a month while it is in use.
func ExampleSet_Adopt() {
	ctx := context.Background()
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	events, err := partition.New(sqldb.Postgres, "events", partition.Month, partition.WithRetain(12),
		partition.WithStart(time.Date(2025, time.March, 1, 0, 0, 0, 0, time.UTC))) // of the oldest row
	if err != nil {
		log.Fatal(err)
	}
	plan, err := events.PlanAdopt(ctx, db) // changes nothing
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan) // the statements are in plan.Steps
	if _, err := events.Adopt(ctx, db); err != nil {
		log.Fatal(err)
	}
}

func ExampleSet_TableOptions() {
	events, err := partition.New(sqldb.Postgres, "events", partition.Month, partition.WithRetain(12))
	if err != nil {
		log.Fatal(err)
	}
	options, err := events.TableOptions()
	fmt.Println(options, err)
	// CREATE TABLE events (id bigint PRIMARY KEY, body text) PARTITION BY RANGE ("id")
	//
	// Then, in one or more processes:
	//
	//	go events.Run(ctx, db, time.Hour)
	//
	// Or, for a table that exists:
	//
	//	plan, err := events.PlanAdopt(ctx, db) // fmt.Println(plan)
	//	steps, err := events.Adopt(ctx, db)

	// Output: PARTITION BY RANGE ("id") <nil>
}
