// Sqlx stores a message and its replies in SQLite with sqlx. A field with a db tag is a snowflake.ID, or a
// sqltypes.Null if the column may be NULL; sqlx.In expands a slice of IDs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	"github.com/jmoiron/sqlx"
	_ "github.com/mattn/go-sqlite3"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// Message is a row of messages.
type Message struct {
	ID      snowflake.ID  `db:"id"       json:"id"`
	ReplyTo sqltypes.Null `db:"reply_to" json:"reply_to"`
	Body    string        `db:"body"     json:"body"`
}

func main() {
	if err := run(context.Background(), "messages.db", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file string, out io.Writer) (err error) {
	db, err := sqlx.Open("sqlite3", file+"?_foreign_keys=on&_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()

	l, err := sqllease.Open(ctx, db.DB, sqldb.SQLite) // sqlx.DB embeds the *sql.DB
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()

	// INTEGER PRIMARY KEY makes the key the rowid; BIGINT would add a second index.
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS messages
		(id INTEGER PRIMARY KEY, reply_to INTEGER REFERENCES messages (id), body TEXT NOT NULL)`)
	if err != nil {
		return err
	}

	ids := make([]snowflake.ID, 3) // the keys are known before the rows are inserted
	if err := l.Generator().Fill(ctx, ids); err != nil {
		return err
	}

	question := sqltypes.NullFrom(ids[0])
	_, err = db.NamedExecContext(ctx, "INSERT INTO messages (id, reply_to, body) VALUES (:id, :reply_to, :body)",
		[]Message{{ids[0], sqltypes.Null{}, "Tea?"}, {ids[1], question, "Yes."}, {ids[2], question, "No."}})
	if err != nil {
		return err
	}

	query, args, err := sqlx.In("SELECT * FROM messages WHERE id IN (?) ORDER BY id", ids)
	if err != nil {
		return err
	}

	var messages []Message
	if err := db.SelectContext(ctx, &messages, db.Rebind(query), args...); err != nil {
		return err
	}

	return json.NewEncoder(out).Encode(messages)
}
