package partition_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// A service that keeps a year of events, in partitions of a month.
func Example() {
	ctx := context.Background()
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	events, err := partition.New(sqldb.Postgres, "events", partition.Month,
		partition.WithRetain(12), partition.WithGrace(6*time.Hour))
	if err != nil {
		log.Fatal(err)
	}
	// An ordinary table with millions of rows gets partitions while it is in use. PlanAdopt shows how, and changes nothing.
	if _, err := events.Adopt(ctx, db); err != nil {
		log.Fatal(err)
	}
	plan, err := events.Plan(ctx, db)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(plan) // what Maintain would do

	go func() { _ = events.Run(ctx, db, time.Hour) }() // it returns the error of ctx
}

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
