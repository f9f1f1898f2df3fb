// Databasesql stores messages and their replies in SQLite with database/sql alone. The keys need nothing special: a
// snowflake.ID is an argument of any statement and a destination of Scan, and a sqltypes.Null is for columns that may
// be NULL.
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
	"strings"
	"time"

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

// Message is a row.
type Message struct {
	ID      snowflake.ID  `json:"id"`
	ReplyTo sqltypes.Null `json:"reply_to"` // NULL if it is not a reply
	Body    string        `json:"body"`
}

func main() {
	dir, err := os.MkdirTemp("", "databasesql")
	if err == nil {
		err = errors.Join(run(context.Background(), filepath.Join(dir, "messages.db"), os.Stdout), os.RemoveAll(dir))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run opens the database and leases a worker number from it, so that several processes can run this program.
func run(ctx context.Context, file string, out io.Writer) (err error) {
	db, err := sql.Open("sqlite3", file+"?_foreign_keys=on&_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := sqllease.New(db, sqldb.SQLite)
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

// write stores a question, and its replies in one transaction. All keys are known before the rows are inserted.
func write(ctx context.Context, db *sql.DB, gen *snowflake.Generator) ([]Message, error) {
	question := Message{Body: "Is there tea?"}
	var err error
	if question.ID, err = gen.NextContext(ctx); err != nil {
		return nil, err
	}
	if err := insert(ctx, db, question); err != nil {
		return nil, err
	}
	replies := []Message{{Body: "Yes."}, {Body: "Green or black?"}, {Body: "No, coffee."}}
	ids := make([]snowflake.ID, len(replies))
	if err := gen.Fill(ctx, ids); err != nil { // one draw for all; before the transaction, because it may wait
		return nil, err
	}
	for i := range replies {
		replies[i].ID, replies[i].ReplyTo = ids[i], sqltypes.NullFrom(question.ID)
	}
	return append([]Message{question}, replies...), insert(ctx, db, replies...)
}

// read queries rows by time and by key, and shows the errors for an existing key and for NULL.
func read(ctx context.Context, db *sql.DB, layout snowflake.Layout, messages []Message, out io.Writer) error {
	now := time.Now()
	lo, hi, err := layout.Range(now.Add(-time.Hour), now.Add(time.Minute)) // in a burst, IDs lead the clock
	if err != nil {
		return err
	}
	recent, err := query(ctx, db, "WHERE id >= ? AND id < ?", lo, hi)
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
	ids := []any{messages[1].ID, messages[3].ID}
	some, err := query(ctx, db, "WHERE id IN (?"+strings.Repeat(", ?", len(ids)-1)+")", ids...)
	if err != nil {
		return err
	}
	for _, m := range some {
		fmt.Fprintf(out, "by key: %q\n", m.Body)
	}

	err = insert(ctx, db, messages[0])
	var sqliteErr sqlite3.Error
	if !errors.As(err, &sqliteErr) || sqliteErr.ExtendedCode != sqlite3.ErrConstraintPrimaryKey {
		return fmt.Errorf("stored twice: %w", err)
	}
	fmt.Fprintln(out, "again:", sqliteErr)
	var parent snowflake.ID // an ID rejects NULL; sqltypes.Null or *snowflake.ID would accept it
	err = db.QueryRowContext(ctx, "SELECT reply_to FROM messages WHERE id = ?", messages[0].ID).Scan(&parent)
	fmt.Fprintln(out, "NULL:", errors.Is(err, snowflake.ErrNull))
	return nil
}

// insert stores all messages or none.
func insert(ctx context.Context, db *sql.DB, messages ...Message) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	stmt, err := tx.PrepareContext(ctx, "INSERT INTO messages (id, reply_to, body) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	for _, m := range messages {
		if _, err := stmt.ExecContext(ctx, m.ID, m.ReplyTo, m.Body); err != nil {
			return fmt.Errorf("insert message %d: %w", m.ID, err)
		}
	}
	return tx.Commit()
}

// query returns the messages that the condition selects, oldest first.
func query(ctx context.Context, db *sql.DB, where string, args ...any) ([]Message, error) {
	rows, err := db.QueryContext(ctx, "SELECT id, reply_to, body FROM messages "+where+" ORDER BY id", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var messages []Message
	for rows.Next() {
		var m Message
		if err := rows.Scan(&m.ID, &m.ReplyTo, &m.Body); err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, rows.Err()
}
