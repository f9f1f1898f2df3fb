// Databasesql stores a message and its replies in SQLite with database/sql. A snowflake.ID is an argument of any
// statement and a destination of Scan; a sqltypes.Null is for columns that may be NULL.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// Message is a row of messages.
type Message struct {
	ID      snowflake.ID  `json:"id"` // a string in JSON, because JavaScript would round the number
	ReplyTo sqltypes.Null `json:"reply_to"`
	Body    string        `json:"body"`
}

func main() {
	if err := run(context.Background(), "messages.db", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file string, out io.Writer) (err error) {
	db, err := sql.Open("sqlite3", file+"?_foreign_keys=on&_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	l, err := sqllease.Open(ctx, db, sqldb.SQLite) // creates the lease table, takes one of 1,024 workers
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
	const insert = "INSERT INTO messages (id, reply_to, body) VALUES (?, ?, ?)"
	for _, m := range []Message{{ids[0], sqltypes.Null{}, "Tea?"}, {ids[1], question, "Yes."}, {ids[2], question, "No."}} {
		if _, err := db.ExecContext(ctx, insert, m.ID, m.ReplyTo, m.Body); err != nil {
			return err
		}
	}

	// The messages of the last hour are a range of keys. In a burst, IDs lead the clock.
	lo, hi, err := l.Generator().Layout().Range(time.Now().Add(-time.Hour), time.Now().Add(time.Minute))
	if err != nil {
		return err
	}
	const query = "SELECT id, reply_to, body FROM messages WHERE id >= ? AND id < ? ORDER BY id"
	rows, err := db.QueryContext(ctx, query, lo, hi)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var m Message
		if err := rows.Scan(&m.ID, &m.ReplyTo, &m.Body); err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(m); err != nil {
			return err
		}
	}
	return rows.Err()
}
