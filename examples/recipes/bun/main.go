// Bun uses Snowflake IDs as primary keys with bun: a small shop that stores, reads and upserts customers and orders.
//
// Two steps are needed: embed the Key of key.go in the models, and open the database with a dialect that also holds the
// generator. The columns are plain bigint (integer on SQLite), and inserts of structs and slices need nothing else. Bun
// calls no hooks for a map, so a map must contain its key: SQLite stores a row without one under the largest key plus
// 1, which a generator may issue too.
//
//	go run .                                      # SQLite, in memory
//	go run . postgres://postgres@localhost/empty  # a PostgreSQL database without the tables customers and orders
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/signal"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/sqlflake/sqlflake/snowflake"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bun:", err)
		os.Exit(1)
	}
}

// run is main with injectable arguments and output.
func run(ctx context.Context, args []string, out io.Writer) error {
	driver, dsn := "sqlite3", "file:shop?mode=memory&cache=shared&_foreign_keys=on"
	if len(args) > 0 {
		driver, dsn = "pgx", args[0]
	}
	pool, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	gen, err := snowflake.New(1) // this process is worker 1; package lease can assign the number
	if err != nil {
		return err
	}
	return shop{db: open(pool, driver, gen), layout: gen.Layout(), out: out}.demonstrate(ctx)
}

// open returns the database with gen in its dialect, where the hooks of key.go find it.
func open(pool *sql.DB, driver string, gen *snowflake.Generator) *bun.DB {
	if driver == "pgx" {
		return bun.NewDB(pool, postgresKeys{pgdialect.New(), gen})
	}
	return bun.NewDB(pool, sqliteKeys{sqlitedialect.New(), gen})
}
