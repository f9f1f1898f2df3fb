// Shop stores a customer and orders with the code that ent generates.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"log"
	"os"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"

	"github.com/sqlflake/sqlflake/examples/recipes/ent/ent"
	"github.com/sqlflake/sqlflake/examples/recipes/ent/ent/customer"
	"github.com/sqlflake/sqlflake/examples/recipes/ent/schema"
	"github.com/sqlflake/sqlflake/snowflake"
)

func main() {
	gen, err := snowflake.New(1) // for several processes, lease.Open takes the worker numbers
	if err != nil {
		log.Fatal(err)
	}

	db, err := sql.Open("sqlite3", "file::memory:?cache=shared&_foreign_keys=on")
	if err != nil {
		log.Fatal(err)
	}

	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db)))
	client.Use(schema.Keys(gen))
	if err := run(context.Background(), client, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client *ent.Client, out io.Writer) error {
	if err := client.Schema.Create(ctx); err != nil {
		return err
	}

	ada, err := client.Customer.Create().SetCode("ada").Save(ctx)
	if err != nil {
		return err
	}

	prices := []int64{1250, 80, 399}
	_, err = client.Order.MapCreateBulk(prices, func(c *ent.OrderCreate, i int) { // one statement
		c.SetCents(prices[i]).SetCustomer(ada)
	}).Save(ctx)
	if err != nil {
		return err
	}

	// An upsert: the row keeps its key, and ID returns it. The bulk form does not return keys.
	id, err := client.Customer.Create().SetCode("ada").OnConflictColumns(customer.FieldCode).UpdateNewValues().ID(ctx)
	if err != nil {
		return err
	}

	found, err := client.Customer.Query().Where(customer.ID(id)).WithOrders().Only(ctx)
	if err != nil {
		return err
	}

	return json.NewEncoder(out).Encode(found)
}
