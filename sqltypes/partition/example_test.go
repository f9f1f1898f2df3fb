package partition_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
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
	plan, err := events.Plan(ctx, db)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(plan) // what Maintain would do

	go func() { _ = events.Run(ctx, db, time.Hour) }() // it returns the error of ctx
}

// Before a partition is dropped, its rows are copied to a file.
func ExampleWithArchive() {
	copyOut := func(ctx context.Context, table string) error {
		fmt.Println("copy", table)
		return nil
	}
	_, err := partition.New(sqldb.Postgres, "events", partition.Day, partition.WithRetain(90), partition.WithArchive(copyOut))
	fmt.Println(err)
	// Output: <nil>
}

func ExamplePlan_String() {
	layout := snowflake.Default()
	january := time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)
	lo, hi, err := layout.Range(january, january.AddDate(0, 1, 0))
	if err != nil {
		log.Fatal(err)
	}
	old, end, err := layout.Range(january.AddDate(-1, -1, 0), january.AddDate(-1, 0, 0))
	if err != nil {
		log.Fatal(err)
	}
	plan := partition.Plan{Table: "public.events", Steps: []partition.Step{{
		Action: "create", Partition: "events_2027_01", Lo: lo, Hi: hi,
		From: layout.Time(lo), To: layout.Time(hi), Why: "month ahead",
	}, {
		Action: "drop", Partition: "events_2025_12", Lo: old, Hi: end,
		From: layout.Time(old), To: layout.Time(end), Rows: 1_234_567, Bytes: 340_000_000, Why: "beyond the retention of 12 months",
	}}, Problems: []error{errors.New("events_2026_12: a table of this name exists and is no partition")}}
	fmt.Print(&plan)
	// Output:
	// public.events: 0 partitions, 2 steps, times in UTC
	// ACTION  PARTITION       FROM        TO          ROWS    SIZE    REASON
	// create  events_2027_01  2027-01-01  2027-02-01  -       -       month ahead
	// drop    events_2025_12  2025-12-01  2026-01-01  ~1.2 M  340 MB  beyond the retention of 12 months
	// problem: events_2026_12: a table of this name exists and is no partition
}
