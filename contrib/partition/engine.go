package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// An engine is what a database does for a Set.
type engine interface {
	// maxName is the limit of a name, in bytes.
	maxName() int

	// inspect reads the table. It returns ErrTable for one that can't be maintained.
	inspect(ctx context.Context, q querier, s *Set) (*state, error)

	// adoption returns what is left to do to adopt the table, and notes in c what it finds, and what its steps do.
	// attempt counts from 0: see relatedLocks.
	adoption(ctx context.Context, q querier, s *Set, c *claim, attempt int) (*adoption, error)

	// selectKey returns SELECT and FROM for the key of a partition or a detached table, and the name of the key.
	selectKey(s *Set, p part) (query, key string)

	// taken reports whether a new partition can't have the name, because a table that is no partition of s has it.
	taken(ctx context.Context, q querier, st *state, table string) (bool, error)

	// connect calls f on a connection whose waits for locks are limited to the lock timeout. Without change, f only
	// reads. With it, no other process maintains the table meanwhile: connect returns errBusy at once if one does. On
	// PostgreSQL f runs in a transaction, which is committed if f returns nil, with safePath, and gets the Set with the
	// schema of the table; connect returns ErrTable if there is no table.
	connect(ctx context.Context, db *sql.DB, s *Set, change bool, f func(*Set, querier) error) error

	// statements returns the statements that execute a step.
	statements(s *Set, st *state, step Step) []string

	// execute executes a step on a connection for changes. It returns errBusy if a row with a key below the step's
	// floor was written since the plan was made.
	execute(ctx context.Context, q querier, s *Set, st *state, step Step) error

	// finish executes, after execute, the part of a step that needs a connection for itself: DETACH CONCURRENTLY, and
	// the callback of WithArchive; then it marks the detached table as archived. Only one process does either at a
	// time; finish returns errBusy in the others, and nil if another one has done it.
	finish(ctx context.Context, db *sql.DB, s *Set, st *state, step Step) error

	// move creates a partition, on a connection for changes, and moves its rows from the default partition into it.
	move(ctx context.Context, q querier, s *Set, st *state, create Step) (moved int64, err error)

	// limit returns how long a wait for a lock really is at most, for a lock timeout.
	limit(timeout time.Duration) time.Duration

	// refused reports whether a statement failed because of its limit for locks, or a deadlock.
	refused(err error) bool
}

// errBusy means that another process maintains the table.
var errBusy = errors.New("partition: another process maintains the table")

// querier is a connection or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// greatest as the n of keyOf is the greatest key.
const greatest = -1

// keyOf returns a key of a partition or a detached table: in their order, the one after n others of those with
// lo <= key && key < hi. It reads n+1 entries of an index.
func (s *Set) keyOf(ctx context.Context, q querier, p part, lo, hi int64, n int) (key int64, found bool, err error) {
	query, column := s.engine.selectKey(s, p)
	query += " WHERE true"
	if lo != noLow {
		query += fmt.Sprintf(" AND %s >= %d", column, lo)
	}
	if hi != noHigh {
		query += fmt.Sprintf(" AND %s < %d", column, hi)
	}

	query += " ORDER BY " + column
	if n == greatest {
		query += " DESC LIMIT 1"
	} else {
		query += fmt.Sprintf(" LIMIT 1 OFFSET %d", n)
	}

	found, err = one(q.QueryRowContext(ctx, query), &key)
	return key, found, err
}

// noTable is the error for a table that is not found.
func (s *Set) noTable() error {
	return fmt.Errorf("%w: there is no table %v, or no right to see it", ErrTable, s.table)
}

// checkKey returns ErrTable for a key that does not exist, which has no type, or is no bigint.
func (s *Set) checkKey(table name, keyType string, bigint bool) error {
	switch {
	case keyType == "":
		return fmt.Errorf("%w: %v has no column %s", ErrTable, table, s.key)
	case !bigint:
		return fmt.Errorf("%w: %v has the key %s of the type %s, want bigint", ErrTable, table, s.key, keyType)
	}
	return nil
}

// none returns errBusy if there is such a key: its row came after the plan was made.
func (s *Set) none(ctx context.Context, q querier, p part, lo, hi int64) error {
	_, found, err := s.keyOf(ctx, q, p, lo, hi, 0)
	if found {
		return errBusy
	}
	return err
}

// one scans a row, if there is one.
func one(row *sql.Row, into ...any) (found bool, err error) {
	err = row.Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls f for each row of a query.
func each(ctx context.Context, q querier, query string, args []any, f func(scan func(...any) error) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list returns the rows of a query with one text column.
func list(ctx context.Context, q querier, query string, args ...any) (texts []string, err error) {
	err = each(ctx, q, query, args, func(scan func(...any) error) error {
		var text string
		err := scan(&text)
		if err == nil {
			texts = append(texts, text)
		}
		return err
	})
	return texts, err
}

// execAll executes statements in their order. Its error has the statement.
func execAll(ctx context.Context, q querier, statements ...string) error {
	for _, statement := range statements {
		if _, err := q.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.300s: %w", statement, err)
		}
	}
	return nil
}
