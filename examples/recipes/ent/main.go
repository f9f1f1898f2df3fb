// Ent uses Snowflake IDs as primary keys with ent: a small shop that stores, reads and upserts customers and orders.
//
// Two steps are needed: use the mixin of ent/schema/key.go in the schemas and generate the code, and register the hook
// of keys.go with the client. The generated types then have ID fields of type snowflake.ID, the columns are plain
// bigint (integer on SQLite), and Create, CreateBulk and upserts need nothing else.
//
//	go run .                                      # SQLite, in memory
//	go run . postgres://postgres@localhost/empty  # a PostgreSQL database without the tables customers and orders
//	go generate .                                 # after a change of ent/schema
package main

//go:generate go tool ent generate --feature sql/upsert ./ent/schema

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/signal"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"

	"github.com/sqlflake/sqlflake/examples/recipes/ent/ent"
	"github.com/sqlflake/sqlflake/snowflake"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ent:", err)
		os.Exit(1)
	}
}

// run is main with injectable arguments and output.
func run(ctx context.Context, args []string, out io.Writer) error {
	driver, name, dsn := "sqlite3", dialect.SQLite, "file:shop?mode=memory&cache=shared&_foreign_keys=on"
	if len(args) > 0 {
		driver, name, dsn = "pgx", dialect.Postgres, args[0]
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	gen, err := snowflake.New(1) // this process is worker 1; package lease can assign the number
	if err != nil {
		return err
	}
	return shop{client: open(db, name, keys(gen)), layout: gen.Layout(), out: out}.demonstrate(ctx)
}

// open returns a client that runs the hooks.
func open(db *sql.DB, dialectName string, hooks ...ent.Hook) *ent.Client {
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialectName, db)))
	client.Use(hooks...)
	return client
}
