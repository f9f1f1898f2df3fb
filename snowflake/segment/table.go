package segment

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake/internal/operator"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// last is the greatest end of a block.
const last = math.MaxInt64 - 1

// table is the statements of a dialect. A row has the number at which the next block of its name begins.
type table struct {
	db           sqldb.DB
	schema, take string
	insert       string // MySQL: adds the row; elsewhere take does
}

const (
	usable = "SELECT next_number FROM snowflake_segments LIMIT 0"
	create = "CREATE TABLE IF NOT EXISTS snowflake_segments (\n\tname "
	upsert = `INSERT INTO snowflake_segments AS s (name, next_number) VALUES (?1, 1 {+} CAST(?2 AS bigint))
ON CONFLICT (name) DO UPDATE SET next_number = s.next_number {+} ?2 WHERE s.next_number {<=} ?3 RETURNING next_number`
)

var tables = map[sqldb.Dialect]table{
	sqldb.SQLite: {
		schema: create + "text PRIMARY KEY,\n\tnext_number bigint NOT NULL\n)",
		take:   operator.Plain.Replace(upsert),
	},
	sqldb.Postgres: {
		schema: create + "pg_catalog.text PRIMARY KEY,\n\tnext_number bigint NOT NULL\n)",
		take:   operator.Qualified.Replace(strings.ReplaceAll(upsert, "?", "$")),
	},
	sqldb.MySQL: {
		// VARBINARY is compared byte by byte, and MyISAM survives no crash.
		schema: create + "VARBINARY(100) PRIMARY KEY,\n\tnext_number BIGINT NOT NULL\n) ENGINE=InnoDB",
		insert: "INSERT IGNORE INTO snowflake_segments (name, next_number) VALUES (?, 1)",
		// LAST_INSERT_ID(x) is x, and also the insert ID in the reply to the statement:
		// https://dev.mysql.com/doc/refman/8.4/en/information-functions.html#function_last-insert-id
		take: `UPDATE snowflake_segments SET next_number = LAST_INSERT_ID(next_number + ?)
WHERE next_number <= ? AND name = ?`,
	},
}

func tableOf(db sqldb.DB, dialect sqldb.Dialect) (table, error) {
	if err := sqldb.Validate(db, dialect); err != nil {
		return table{}, fmt.Errorf("%w: %w", ErrOption, err)
	}
	t := tables[dialect]
	t.db = db
	return t, nil
}

// Schema returns the statement with which Migrate creates the table snowflake_segments, for migrations of your own; ""
// for an unknown dialect. Rows must not be deleted or changed: numbers would repeat. To begin above 1, insert the row
// (name, first number) before the first Open.
func Schema(dialect sqldb.Dialect) string { return tables[dialect].schema }

// Migrate creates the table if it does not exist. It may run at the same time in any number of processes, and needs no
// right to create tables if the table exists. It returns ErrOption, and the errors of the database.
func Migrate(ctx context.Context, db sqldb.DB, dialect sqldb.Dialect) error {
	t, err := tableOf(db, dialect)
	if err != nil {
		return fmt.Errorf("%w; a transaction can execute the statement of Schema", err)
	}
	if _, err := t.number(ctx, usable); errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	// IF NOT EXISTS is no lock: on PostgreSQL the slower of two at the same time gets a unique violation of the
	// catalogue, and finds the table afterwards.
	_, created := db.ExecContext(ctx, t.schema)
	if _, err := t.number(ctx, usable); !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("segment: create the table snowflake_segments: %w", errors.Join(created, err))
	}
	return nil
}

// number returns the number that a statement returns, or sql.ErrNoRows.
func (t table) number(ctx context.Context, text string, args ...any) (n int64, err error) {
	rows, err := t.db.QueryContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	missing := sql.ErrNoRows
	// To the end: SQLite commits after the row, and only the commit counts.
	for rows.Next() {
		missing = rows.Scan(&n)
	}
	return n, cmp.Or(rows.Err(), rows.Close(), missing)
}

// prepare adds the row of a name if take does not.
func (t table) prepare(ctx context.Context, name string) error {
	if t.insert == "" {
		return nil
	}
	on, err := t.number(ctx, "SELECT @@autocommit")
	if err == nil && on == 0 {
		return fmt.Errorf("%w: the connections have autocommit = 0, so no block would be committed", ErrOption)
	}
	if err == nil {
		_, err = t.db.ExecContext(ctx, t.insert, name)
	}
	return err
}

// takeBlock takes a block of a size. It is one statement, which commits by itself.
func (t table) takeBlock(ctx context.Context, name string, size int64) (block, error) {
	end, err := t.end(ctx, name, size)
	for tries := 1; tries < maxTries && isConflict(err); tries++ {
		end, err = t.end(ctx, name, size)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return block{}, fmt.Errorf("%w: a block of %d for %q would end above %d", ErrExhausted, size, name, int64(last))
	case err != nil:
		return block{}, fmt.Errorf("segment: take %d numbers of %q: %w", size, name, err)
	case end <= size:
		return block{}, fmt.Errorf("%w: the block of %q ends at %d: the row was changed, or the server ignores LAST_INSERT_ID(x)",
			ErrOption, name, end)
	}
	return block{end - size, end}, nil
}

// maxTries is how often a block is requested while other processes are faster.
const maxTries = 100

// isConflict reports whether PostgreSQL has refused the statement because another one was faster, as it does if
// default_transaction_isolation is repeatable read or serializable.
func isConflict(err error) bool {
	var server interface{ SQLState() string }
	return errors.As(err, &server) && server.SQLState() == "40001"
}

// end returns the number after a new block, or sql.ErrNoRows if there is no room for it.
func (t table) end(ctx context.Context, name string, size int64) (int64, error) {
	if t.insert == "" {
		return t.number(ctx, t.take, name, size, last-size)
	}
	result, err := t.db.ExecContext(ctx, t.take, size, last-size, name)
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return 0, cmp.Or(err, sql.ErrNoRows)
	}
	return result.LastInsertId()
}
