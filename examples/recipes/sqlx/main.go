// Sqlx stores messages and their replies in SQLite with sqlx. The keys need nothing special: a field with a db tag is a
// snowflake.ID, or a sqltypes.Null if the column may be NULL, and sqlx.In expands a slice of IDs.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/mattn/go-sqlite3"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// INTEGER PRIMARY KEY makes the key the rowid; BIGINT would add a second index.
const schema = `CREATE TABLE messages (
	id       INTEGER PRIMARY KEY,
	reply_to INTEGER REFERENCES messages (id),
	body     TEXT NOT NULL
)`

const insert = "INSERT INTO messages (id, reply_to, body) VALUES (:id, :reply_to, :body)"

// Message is a row.
type Message struct {
	ID      snowflake.ID  `db:"id"       json:"id"`
	ReplyTo sqltypes.Null `db:"reply_to" json:"reply_to"` // NULL if it is not a reply
	Body    string        `db:"body"     json:"body"`
}

func main() {
	dir, err := os.MkdirTemp("", "sqlx")
	if err == nil {
		err = errors.Join(run(context.Background(), filepath.Join(dir, "messages.db"), os.Stdout), os.RemoveAll(dir))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run opens the database and leases a worker number from it, so that several processes can run this program.
func run(ctx context.Context, file string, out io.Writer) (err error) {
	db, err := sqlx.Open("sqlite3", file+"?_foreign_keys=on&_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := sqllease.New(db.DB, sqldb.SQLite) // sqlx.DB embeds the *sql.DB
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

	if _, err := db.ExecContext(ctx, schema); err != nil {
		return err
	}
	messages, err := write(ctx, db, l.Generator())
	if err != nil {
		return err
	}
	return read(ctx, db, l.Generator().Layout(), messages, out)
}

// write stores a question, and its replies in one statement. All keys are known before the rows are inserted.
func write(ctx context.Context, db *sqlx.DB, gen *snowflake.Generator) ([]Message, error) {
	question := Message{Body: "Is there tea?"}
	var err error
	if question.ID, err = gen.NextContext(ctx); err != nil {
		return nil, err
	}
	if _, err := db.NamedExecContext(ctx, insert, question); err != nil {
		return nil, err
	}
	replies := []Message{{Body: "Yes."}, {Body: "Green or black?"}, {Body: "No, coffee."}}
	ids := make([]snowflake.ID, len(replies))
	if err := gen.Fill(ctx, ids); err != nil { // one draw for all
		return nil, err
	}
	for i := range replies {
		replies[i].ID, replies[i].ReplyTo = ids[i], sqltypes.NullFrom(question.ID)
	}
	_, err = db.NamedExecContext(ctx, insert, replies) // VALUES (...), (...), (...)
	return append([]Message{question}, replies...), err
}

// read queries rows by time and by key, and shows the errors for an existing and for a missing key.
func read(ctx context.Context, db *sqlx.DB, layout snowflake.Layout, messages []Message, out io.Writer) error {
	now := time.Now()
	lo, hi, err := layout.Range(now.Add(-time.Hour), now.Add(time.Minute)) // in a burst, IDs lead the clock
	if err != nil {
		return err
	}
	var recent []Message
	if err := db.SelectContext(ctx, &recent, "SELECT * FROM messages WHERE id >= ? AND id < ? ORDER BY id", lo, hi); err != nil {
		return err
	}
	for _, m := range recent {
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", text)
	}

	ids := []snowflake.ID{messages[1].ID, messages[3].ID}
	query, args, err := sqlx.In("SELECT body FROM messages WHERE id IN (?) ORDER BY id", ids)
	if err != nil {
		return err
	}
	var bodies []string
	if err := db.SelectContext(ctx, &bodies, db.Rebind(query), args...); err != nil {
		return err
	}
	fmt.Fprintf(out, "by key: %q\n", bodies)

	_, err = db.NamedExecContext(ctx, insert, messages[0])
	var sqliteErr sqlite3.Error
	if !errors.As(err, &sqliteErr) || sqliteErr.ExtendedCode != sqlite3.ErrConstraintPrimaryKey {
		return fmt.Errorf("stored twice: %w", err)
	}
	fmt.Fprintln(out, "again:", sqliteErr)

	var message Message
	err = db.GetContext(ctx, &message, "SELECT * FROM messages WHERE id = ?", messages[0].ID+1<<40)
	fmt.Fprintln(out, "not there:", errors.Is(err, sql.ErrNoRows))
	return nil
}
