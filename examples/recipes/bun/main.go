// Bun stores customers and orders in SQLite or PostgreSQL with bun. Two steps are needed: embed the Key of key.go in
// the models, and open the database with a dialect that also holds the generator. Bun calls no hooks for a map, so a
// map must contain its key: SQLite stores a row without one under the largest key plus 1, which a generator may issue
// too.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"log"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Customer is known by a code.
type Customer struct {
	Key
	Code   string  `bun:",unique,notnull" json:"code"`
	Orders []Order `bun:"rel:has-many,join:id=customer_id" json:"orders"`
}

// Order may have no customer. The pointer could be a sqltypes.Null with the tag type:bigint: without it bun uses JSONB.
type Order struct {
	Key
	CustomerID *snowflake.ID `json:"customer_id"`
	Cents      int64         `bun:",notnull" json:"cents"`
}

// keyed is a dialect with the generator, which the hook of Key finds there. Only bun's AutoMigrator needs the dialect's
// own type here, such as *pgdialect.Dialect.
type keyed struct {
	schema.Dialect
	*snowflake.Generator
}

func main() {
	driver, dsn, dialect := "sqlite3", "file::memory:?cache=shared", schema.Dialect(sqlitedialect.New())
	if len(os.Args) > 1 {
		driver, dsn, dialect = "pgx", os.Args[1], pgdialect.New()
	}

	gen, err := snowflake.New(1) // for several processes, lease.Open takes the worker numbers
	if err != nil {
		log.Fatal(err)
	}

	pool, err := sql.Open(driver, dsn)
	if err == nil {
		err = run(context.Background(), bun.NewDB(pool, keyed{dialect, gen}), os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, db *bun.DB, out io.Writer) error {
	for _, model := range []any{(*Customer)(nil), (*Order)(nil)} {
		if _, err := db.NewCreateTable().Model(model).Exec(ctx); err != nil {
			return err
		}
	}

	ada := Customer{Code: "ada"}
	if _, err := db.NewInsert().Model(&ada).Exec(ctx); err != nil {
		return err
	}

	orders := []Order{{Cents: 1250}, {CustomerID: &ada.ID, Cents: 80}, {CustomerID: &ada.ID, Cents: 399}}
	if _, err := db.NewInsert().Model(&orders).Exec(ctx); err != nil { // one statement
		return err
	}

	// An upsert: Returning reads the key of the existing row into the struct. Do not use it with DO NOTHING, which
	// returns fewer rows: bun writes them into the first structs of a slice, whichever they belong to.
	again := Customer{Code: "ada"}
	upsert := db.NewInsert().Model(&again).On("CONFLICT (code) DO UPDATE").Set("code = EXCLUDED.code").Returning("id")
	if _, err := upsert.Exec(ctx); err != nil {
		return err
	}

	if err := db.NewSelect().Model(&again).WherePK().Relation("Orders").Scan(ctx); err != nil {
		return err
	}

	return json.NewEncoder(out).Encode(again)
}
