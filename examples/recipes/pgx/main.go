// Pgx stores a message and its replies in PostgreSQL with pgx, in one round trip. A snowflake.ID is an argument, a
// column of CopyFrom, an element of an array and a field of a struct; a *snowflake.ID or a sqltypes.Null is for columns
// that may be NULL.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Message is a row of pgx_messages, a name that no other recipe has.
type Message struct {
	ID      snowflake.ID  `json:"id"`
	ReplyTo *snowflake.ID `json:"reply_to"`
	Body    string        `json:"body"`
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run ./pgx postgres://user:password@host/database (creates the table pgx_messages)")
	}
	if err := run(context.Background(), os.Args[1], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dsn string, out io.Writer) (err error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return err
	}

	// Only for slices of IDs with QueryExecModeExec or QueryExecModeSimpleProtocol, for example behind PgBouncer.
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterDefaultPgType([]snowflake.ID(nil), "_int8")
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
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

	_, err = pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS pgx_messages
		(id bigint PRIMARY KEY, reply_to bigint REFERENCES pgx_messages, body text NOT NULL)`)
	if err != nil {
		return err
	}
	if err := copyMore(ctx, pool, l.Generator()); err != nil {
		return err
	}

	messages, err := discuss(ctx, pool, l.Generator())
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(messages)
}

// discuss inserts a question with its replies, and reads them.
func discuss(ctx context.Context, pool *pgxpool.Pool, generator *snowflake.Generator) ([]Message, error) {
	ids := make([]snowflake.ID, 3) // the keys are known before the rows are inserted
	if err := generator.Fill(ctx, ids); err != nil {
		return nil, err
	}

	question, replies := Message{ids[0], nil, "Tea?"}, []Message{{ids[1], &ids[0], "Yes."}, {ids[2], &ids[0], "No."}}

	// One transaction in one round trip: no statement waits for a key that another returns.
	batch := &pgx.Batch{}
	for _, m := range append([]Message{question}, replies...) {
		batch.Queue("INSERT INTO pgx_messages (id, reply_to, body) VALUES ($1, $2, $3)", m.ID, m.ReplyTo, m.Body)
	}

	if err := pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}

	// The messages of the last hour are a range of keys. In a burst, IDs lead the clock.
	lo, hi, err := generator.Layout().Range(time.Now().Add(-time.Hour), time.Now().Add(time.Minute))
	if err != nil {
		return nil, err
	}

	const query = "SELECT id, reply_to, body FROM pgx_messages WHERE id >= $1 AND id < $2 AND id = ANY ($3) ORDER BY id"
	rows, err := pool.Query(ctx, query, lo, hi, ids)
	if err != nil {
		return nil, err
	}

	return pgx.CollectRows(rows, pgx.RowToStructByName[Message])
}

// copyMore inserts many messages with COPY.
func copyMore(ctx context.Context, pool *pgxpool.Pool, generator *snowflake.Generator) error {
	ids := make([]snowflake.ID, 1000)
	if err := generator.Fill(ctx, ids); err != nil {
		return err
	}

	row := func(i int) ([]any, error) { return []any{ids[i], nil, "Hello."}, nil }
	columns := []string{"id", "reply_to", "body"}
	_, err := pool.CopyFrom(ctx, pgx.Identifier{"pgx_messages"}, columns, pgx.CopyFromSlice(len(ids), row))
	return err
}
