// Pgx stores messages and their replies in PostgreSQL with pgx alone. The keys need nothing special: a snowflake.ID is
// an argument, a column of CopyFrom, an element of an array and a field of a struct, and a *snowflake.ID or a
// sqltypes.Null is for columns that may be NULL. One line is needed for connections that do not ask the server for the
// types of arguments.
//
// CopyFrom of 10,000 rows takes as long with snowflake.ID as with int64 keys, and 8 bytes more for each row (go test
// -bench CopyFrom).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

const schema = `CREATE TABLE messages (
	id       bigint PRIMARY KEY,
	reply_to bigint REFERENCES messages,
	body     text NOT NULL
)`

// Message is a row.
type Message struct {
	ID      snowflake.ID  `json:"id"`
	ReplyTo *snowflake.ID `json:"reply_to"` // NULL if it is not a reply
	Body    string        `json:"body"`
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run . postgres://user:password@host/database (it makes the table messages)")
	}
	if err := run(context.Background(), os.Args[1], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run connects to the database and leases a worker number from it, so that several processes can run this program.
func run(ctx context.Context, dsn string, out io.Writer) (err error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return err
	}
	// Needed only for slices of IDs with QueryExecModeExec and QueryExecModeSimpleProtocol, for example behind
	// PgBouncer.
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterDefaultPgType([]snowflake.ID(nil), "_int8")
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool) // the same connections for package lease
	defer db.Close()
	store, err := sqllease.New(db, sqldb.Postgres)
	if err != nil {
		return err
	}
	if err := store.Migrate(ctx); err != nil { // creates the table of leases
		return err
	}
	l, err := lease.Open(ctx, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()

	if _, err := pool.Exec(ctx, schema); err != nil {
		return err
	}
	ids := make([]snowflake.ID, 6)
	if err := l.Generator().Fill(ctx, ids); err != nil { // one draw for all: the keys are known before the rows are inserted
		return err
	}
	if err := write(ctx, pool, ids); err != nil {
		return err
	}
	return read(ctx, pool, l.Generator().Layout(), ids, out)
}

// write stores a question and five replies, in four ways.
func write(ctx context.Context, pool *pgxpool.Pool, ids []snowflake.ID) error {
	const insert = "INSERT INTO messages (id, reply_to, body) VALUES ($1, $2, $3)"
	question := ids[0]
	if _, err := pool.Exec(ctx, insert, question, nil, "Is there tea?"); err != nil {
		return err
	}

	batch := &pgx.Batch{} // any statements, one round trip
	batch.Queue(insert, ids[1], question, "Yes.")
	batch.Queue(insert, ids[2], question, "Green or black?")
	if err := pool.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}

	// One statement for any number of rows: an array for each column. ON CONFLICT and RETURNING can be added.
	const unnest = "INSERT INTO messages (id, reply_to, body) SELECT id, $2, body FROM unnest($1::bigint[], $3::text[]) AS m (id, body)"
	if _, err := pool.Exec(ctx, unnest, ids[3:4], question, []string{"No, coffee."}); err != nil {
		return err
	}

	// The fastest: a stream of rows.
	rows := []Message{{ids[4], &question, "Or milk?"}, {ids[5], &ids[4], "No."}}
	columns := []string{"id", "reply_to", "body"}
	_, err := pool.CopyFrom(ctx, pgx.Identifier{"messages"}, columns, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		return []any{rows[i].ID, rows[i].ReplyTo, rows[i].Body}, nil
	}))
	return err
}

// read queries rows by time, by key and by what they reply to, and shows the error for an existing key.
func read(ctx context.Context, pool *pgxpool.Pool, layout snowflake.Layout, ids []snowflake.ID, out io.Writer) error {
	now := time.Now()
	lo, hi, err := layout.Range(now.Add(-time.Hour), now.Add(time.Minute)) // in a burst, IDs lead the clock
	if err != nil {
		return err
	}
	rows, err := pool.Query(ctx, "SELECT id, reply_to, body FROM messages WHERE id >= $1 AND id < $2 ORDER BY id", lo, hi)
	if err != nil {
		return err
	}
	messages, err := pgx.CollectRows(rows, pgx.RowToStructByName[Message])
	if err != nil {
		return err
	}
	for _, m := range messages {
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", text)
	}

	rows, err = pool.Query(ctx, "SELECT body FROM messages WHERE id = ANY($1) ORDER BY id", ids[1:3])
	if err != nil {
		return err
	}
	bodies, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "by key: %q\n", bodies)

	var replies []snowflake.ID
	const byQuestion = "SELECT array_agg(id ORDER BY id) FROM messages WHERE reply_to = $1"
	if err := pool.QueryRow(ctx, byQuestion, ids[0]).Scan(&replies); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s has the replies %v\n", ids[0], replies)

	_, err = pool.Exec(ctx, "INSERT INTO messages (id, body) VALUES ($1, 'again')", ids[0])
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "23505" { // unique_violation
		return fmt.Errorf("stored twice: %w", err)
	}
	fmt.Fprintln(out, "again:", pgErr.Message)
	return nil
}
