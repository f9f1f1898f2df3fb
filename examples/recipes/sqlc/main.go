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
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/examples/recipes/sqlc/messages"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes"
)

//go:embed schema.sql
var schema string

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
	pool, err := pgxpool.New(ctx, dsn)
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
	ids := make([]snowflake.ID, 7)
	if err := l.Generator().Fill(ctx, ids); err != nil { // one draw for all: the keys are known before the rows are inserted
		return err
	}
	q := messages.New(pool)
	if err := write(ctx, q, ids[:5], ids[5:]); err != nil {
		return err
	}
	return read(ctx, q, l.Generator().Layout(), ids[:5], ids[5:], out)
}

// write stores a question, and its replies with COPY.
func write(ctx context.Context, q *messages.Queries, ids, users []snowflake.ID) error {
	err := q.InsertMessage(ctx, messages.InsertMessageParams{ID: ids[0], SeenBy: users, Body: "Is there tea?"})
	if err != nil {
		return err
	}
	question, reply := sqltypes.NullFrom(ids[0]), sqltypes.NullFrom(ids[2])
	_, err = q.InsertMessages(ctx, []messages.InsertMessagesParams{
		{ID: ids[1], ReplyTo: question, SeenBy: users[:1], Body: "Yes."},
		{ID: ids[2], ReplyTo: question, SeenBy: users[:1], Body: "Green or black?"},
		{ID: ids[3], ReplyTo: question, SeenBy: []snowflake.ID{}, Body: "No, coffee."}, // nil would be NULL
		{ID: ids[4], ReplyTo: reply, SeenBy: []snowflake.ID{}, Body: "Green."},
	})
	return err
}

// read queries rows by time, by key and by an array, and shows the errors for an existing and for a missing key.
func read(
	ctx context.Context, q *messages.Queries, layout snowflake.Layout, ids, users []snowflake.ID, out io.Writer,
) error {
	now := time.Now()
	lo, hi, err := layout.Range(now.Add(-time.Hour), now.Add(time.Minute)) // in a burst, IDs lead the clock
	if err != nil {
		return err
	}
	recent, err := q.MessagesBetween(ctx, messages.MessagesBetweenParams{Lo: lo, Hi: hi})
	if err != nil {
		return err
	}
	for _, m := range recent {
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", text)
	}
	some, err := q.MessagesByID(ctx, []snowflake.ID{ids[1], ids[3]})
	if err != nil {
		return err
	}
	for _, m := range some {
		fmt.Fprintf(out, "by key: %q\n", m.Body)
	}
	replies, err := q.ReplyIDs(ctx, ids[0])
	if err != nil {
		return err
	}
	seen, err := q.CountSeenBy(ctx, users[0])
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s has the replies %v; %s has seen %d messages\n", ids[0], replies, users[0], seen)
	answered, err := q.RepliesTo(ctx, ids[0])
	if err != nil {
		return err
	}
	for _, r := range answered {
		fmt.Fprintf(out, "%q is answered: %v\n", r.Body, r.Answer.Valid)
	}

	err = q.InsertMessage(ctx, messages.InsertMessageParams{ID: ids[0], SeenBy: users, Body: "again"})
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "23505" { // unique_violation
		return fmt.Errorf("stored twice: %w", err)
	}
	fmt.Fprintln(out, "again:", pgErr.Message)
	_, err = q.GetMessage(ctx, users[0])
	fmt.Fprintln(out, "not there:", errors.Is(err, pgx.ErrNoRows))
	return nil
}
