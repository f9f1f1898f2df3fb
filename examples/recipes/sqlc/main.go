// Sqlc stores messages and their replies in PostgreSQL with code that sqlc generates from SQL. The types are set in
// sqlc.yaml: two overrides make each bigint a snowflake.ID, or a sqltypes.Null if it may be NULL, and a third names the
// bigint column that is not an ID.
package main

//go:generate go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate
//go:generate sh -c "cat sqlc.yaml schema.sql query.sql messages/*.go | sha256sum >generated.sha256"

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/examples/recipes/sqlc/messages"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes"
)

//go:embed schema.sql
var schema string

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run ./sqlc postgres://user:password@host/database (creates the table messages)")
	}
	if err := run(context.Background(), os.Args[1], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dsn string, out io.Writer) (err error) {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()

	db := stdlib.OpenDBFromPool(pool) // the same connections for the lease
	defer db.Close()

	l, err := sqllease.Open(ctx, db, sqldb.Postgres) // creates the lease table, takes one of 1,024 workers
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()

	if _, err := pool.Exec(ctx, schema); err != nil {
		return err
	}

	return discuss(ctx, messages.New(pool), l.Generator(), json.NewEncoder(out))
}

// discuss inserts a question with its replies, and prints what the queries return.
func discuss(ctx context.Context, q *messages.Queries, generator *snowflake.Generator, out *json.Encoder) error {
	ids := make([]snowflake.ID, 5) // the keys are known before the rows are inserted
	if err := generator.Fill(ctx, ids); err != nil {
		return err
	}

	question := sqltypes.NullFrom(ids[0])
	readers := ids[3:]
	none := []snowflake.ID{} // nil would be a NULL array
	_, err := q.InsertMessages(ctx, []messages.InsertMessagesParams{
		{ID: ids[0], SeenBy: readers, Body: "Green tea?"},
		{ID: ids[1], ReplyTo: question, SeenBy: readers[:1], Body: "Or black?"},
		{ID: ids[2], ReplyTo: sqltypes.NullFrom(ids[1]), SeenBy: none, Body: "Green."},
	})
	if err != nil {
		return err
	}

	// The messages of the last hour are a range of keys. In a burst, IDs lead the clock.
	lo, hi, err := generator.Layout().Range(time.Now().Add(-time.Hour), time.Now().Add(time.Minute))
	if err != nil {
		return err
	}

	recent, err := q.MessagesBetween(ctx, messages.MessagesBetweenParams{Lo: lo, Hi: hi})
	if err != nil {
		return err
	}

	some, err := q.MessagesByID(ctx, ids[1:3])
	if err != nil {
		return err
	}

	replies, err := q.RepliesTo(ctx, ids[0])
	if err != nil {
		return err
	}

	return errors.Join(out.Encode(recent), out.Encode(some), out.Encode(replies))
}
