package segment

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/sqlflake/sqlflake/internal/operator"
	"github.com/sqlflake/sqlflake/internal/sqltable"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// last is the greatest end of a block.
const last = math.MaxInt64 - 1

// table is the statements of a dialect. A row has the number at which the next block of its name begins.
type table struct {
	sqltable.Tables
	schema, take string
	insert       string // MySQL: adds the row; elsewhere take does
}

const (
	tableName = "snowflake_segments"

	create = "CREATE TABLE IF NOT EXISTS snowflake_segments (\n\tname "
	upsert = `INSERT INTO snowflake_segments AS s (name, next_number) VALUES (?1, 1 + CAST(?2 AS bigint))
ON CONFLICT (name) DO UPDATE SET next_number = s.next_number + ?2 WHERE s.next_number <= ?3 RETURNING next_number`
)

var tables = map[sqldb.Dialect]table{
	sqldb.SQLite: {
		schema: create + "text PRIMARY KEY,\n\tnext_number bigint NOT NULL\n)",
		take:   upsert,
	},
	sqldb.Postgres: {
		schema: create + "pg_catalog.text PRIMARY KEY,\n\tnext_number bigint NOT NULL\n)",
		take:   operator.Qualify(strings.ReplaceAll(upsert, "?", "$")),
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
	t.Tables = sqltable.Tables{
		DB: db, Dialect: dialect, Parts: []sqltable.Part{{Name: tableName, Create: t.schema}},
		Read:   func(names []string) string { return "SELECT name, next_number FROM " + names[0] + " LIMIT 0" },
		Remedy: "set the search_path to the schema of %s", Refused: ErrOption,
	}
	return t, nil
}

// Schema returns the statement with which Migrate creates the table snowflake_segments, for migrations of your own; ""
// for an unknown dialect. Rows must not be deleted or changed: numbers would repeat. To begin above 1, insert the row
// (name, first number) before the first Open.
func Schema(dialect sqldb.Dialect) string { return tables[dialect].schema }

// Migrate creates the table if the database says that it is missing. It may run at the same time in any number of
// processes, and needs no right to create tables if the table exists.
//
// Two tables would issue each number twice. So on PostgreSQL it returns ErrOption instead of creating one if another
// schema of the database has a table of that name: set the search_path of the connection to that schema. Migrate and
// Open also return ErrOption for a table that belongs to a stranger: the owner must be a superuser, the owner of the
// schema or of the database, the current role, or a role that has the current role as a member. Other errors are the
// database's.
func Migrate(ctx context.Context, db sqldb.DB, dialect sqldb.Dialect) error {
	t, err := tableOf(db, dialect)
	if err != nil {
		return fmt.Errorf("%w; a transaction can execute the statement of Schema", err)
	}

	if err := t.Ensure(ctx, t.Find); err != nil {
		return fmt.Errorf("segment: migrate the table snowflake_segments: %w", err)
	}
	return nil
}

// number returns the number that a statement returns, or sql.ErrNoRows. It reads to the end: SQLite commits after the
// row, and only the commit counts.
func (t table) number(ctx context.Context, text string, args ...any) (n int64, err error) {
	missing := sql.ErrNoRows
	err = sqltable.Query(ctx, t.DB, text, args, func(scan func(...any) error) error {
		missing = nil
		return scan(&n)
	})
	return n, cmp.Or(err, missing)
}

// prepare finds out where the table is and whose on PostgreSQL, and adds the row of a name if take does not.
func (t *table) prepare(ctx context.Context, name string) error {
	if t.insert == "" {
		places, err := t.Find(ctx)
		if len(places) > 0 && !places[0].Missing {
			t.take = strings.Replace(t.take, tableName, places[0].Table, 1) // the same table on each connection
		}
		return err
	}

	on, err := t.number(ctx, "SELECT @@autocommit")
	if err == nil && on == 0 {
		return fmt.Errorf("%w: the connections have autocommit = 0, so no block would be committed", ErrOption)
	}
	if err == nil {
		_, err = t.DB.ExecContext(ctx, t.insert, name)
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
		return block{}, fmt.Errorf(
			"%w: the block of %q ends at %d: the row was changed, or the server ignores LAST_INSERT_ID(x)",
			ErrOption, name, end)
	}

	return block{end - size, end}, nil
}

// maxTries is how often takeBlock tries in all while it loses to other processes.
const maxTries = 100

// isConflict reports whether PostgreSQL has refused the statement because another one was faster, as it does if
// default_transaction_isolation is repeatable read or serializable.
func isConflict(err error) bool { return sqltable.State(err) == "40001" }

// end returns the number after a new block, or sql.ErrNoRows if there is no room for it.
func (t table) end(ctx context.Context, name string, size int64) (int64, error) {
	if t.insert == "" {
		return t.number(ctx, t.take, name, size, last-size)
	}
	result, err := t.DB.ExecContext(ctx, t.take, size, last-size, name)
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return 0, cmp.Or(err, sql.ErrNoRows)
	}
	return result.LastInsertId()
}
