// Package engine has what a database does for the partitions of a table, and the words for it. The packages postgres
// and mysql have the two engines.
package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/internal/sqltable"
)

// Engine maintains partitioned tables on one kind of database: see packages postgres and mysql.
type Engine interface {
	// MaxName is the limit of a name, in bytes.
	MaxName() int

	// Adjoins reports whether a partition begins where the one before ends, and the first one has no lower bound. A gap
	// then belongs to the partition that follows it.
	Adjoins() bool

	// PartitionBy returns the clause of CREATE TABLE with these partitions, if it names partitions.
	PartitionBy(t *Table, creates []Change) string

	// Inspect reads the table. It returns ErrTable for one that can't be maintained.
	Inspect(ctx context.Context, q Querier, t *Table) (*State, error)

	// Key returns a key of a partition or a detached table: see FindKey.
	Key(ctx context.Context, q Querier, t *Table, p Part, lo, hi int64, order string) (key int64, found bool, err error)

	// Taken reports whether a new partition can't have the name, because a table that is no partition of it has it.
	Taken(ctx context.Context, q Querier, st *State, table string) (bool, error)

	// Connect calls f on a connection whose waits for locks are limited to the lock timeout. Without change, f only
	// reads. With it, no other process maintains the table meanwhile: Connect returns ErrBusy at once if one does. On
	// PostgreSQL f runs in a transaction, which is committed if f returns nil, with a safe search_path, and gets the
	// table with its schema; Connect returns ErrTable if there is no table.
	Connect(ctx context.Context, db *sql.DB, t *Table, change bool, f func(*Table, Querier) error) error

	// Statements returns the statements that execute a change.
	Statements(t *Table, st *State, c Change) []string

	// Execute executes a change on a connection for changes. It returns ErrBusy if a row with a key below the floor of
	// the change was written since the plan was made.
	Execute(ctx context.Context, q Querier, t *Table, st *State, c Change) error

	// Archive calls the callback of WithArchive for a detached table, and then marks the table as archived. Only one
	// process does that at a time: Archive returns ErrBusy in the others, and nil if another one has done it.
	Archive(ctx context.Context, db *sql.DB, t *Table, st *State, p Part) error

	// Limit returns how long a wait for a lock really is at most, for a lock timeout.
	Limit(timeout time.Duration) time.Duration

	// Refused reports whether a statement failed because of its limit for locks, or a deadlock.
	Refused(err error) bool
}

// CheckName returns an error for a name that the database would refuse, or cut as PostgreSQL does.
func CheckName(e Engine, text string) error {
	limit := e.MaxName()
	fits := text != "" && len(text) <= limit
	readable := utf8.ValidString(text) && !strings.Contains(text, "\x00")
	if !fits || !readable {
		return fmt.Errorf("%w: %.100q has %d bytes, want 1 to %d", ErrOption, text, len(text), limit)
	}
	return nil
}

// FitName returns a name for a table of a table: its base and a suffix. It cuts a base that is too long, and adds a
// checksum, so that two tables do not get the same name.
func FitName(e Engine, base, suffix string) string {
	if len(base)+len(suffix) > e.MaxName() {
		suffix = fmt.Sprintf("_%08x%s", crc32.ChecksumIEEE([]byte(base)), suffix)
		base = strings.ToValidUTF8(base[:e.MaxName()-len(suffix)], "")
	}
	return base + suffix
}

// Orders of FindKey.
const (
	Least    = ""
	Greatest = " DESC"
)

// FindKey returns the least or the greatest key of a table with lo <= key && key < hi, by one entry of an index. query
// is SELECT and FROM, column the key in SQL.
func FindKey(
	ctx context.Context, q Querier, query, column string, lo, hi int64, order string,
) (key int64, found bool, err error) {
	query += " WHERE true"
	if lo != NoLow {
		query += fmt.Sprintf(" AND %s >= %d", column, lo)
	}
	if hi != NoHigh {
		query += fmt.Sprintf(" AND %s < %d", column, hi)
	}

	query += " ORDER BY " + column + order + " LIMIT 1"
	found, err = One(q.QueryRowContext(ctx, query), &key)
	return key, found, err
}

// None returns ErrBusy if a partition or a detached table has a key with lo <= key && key < hi: its row came after the
// plan was made.
func None(ctx context.Context, q Querier, e Engine, t *Table, p Part, lo, hi int64) error {
	_, found, err := e.Key(ctx, q, t, p, lo, hi, Least)
	if found {
		return ErrBusy
	}
	return err
}

// Errors that package partition exports and describes.
var (
	ErrOption  = errors.New("partition: invalid option")
	ErrTable   = errors.New("partition: unsuitable table")
	ErrBlocked = errors.New("partition: step blocked")
	ErrLocked  = errors.New("partition: lock not available")
)

// ErrBusy means that another process maintains the table.
var ErrBusy = errors.New("partition: another process maintains the table")

// ErrChanging is about a partition that is detached or dropped while it is read.
var ErrChanging = errors.New("another process changes it")

// OwnLock is the error of a change that was refused a lock that no other change needs.
type OwnLock struct{ Err error }

func (e OwnLock) Error() string { return e.Err.Error() }
func (e OwnLock) Unwrap() error { return e.Err }

// Problem returns what Maintain leaves to people, about a partition, or about the table if partition is empty.
func Problem(partition, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if partition != "" {
		err = fmt.Errorf("%s: %w", partition, err)
	}
	return fmt.Errorf("%w: %w", ErrBlocked, err)
}

// Querier is a connection or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Scan scans a row, or returns absent if there is none.
func Scan(row *sql.Row, absent error, into ...any) error {
	err := row.Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return absent
	}
	return err
}

// One scans a row, if there is one.
func One(row *sql.Row, into ...any) (found bool, err error) {
	err = row.Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// List returns the rows of a query with one text column.
func List(ctx context.Context, q Querier, query string, args ...any) (texts []string, err error) {
	err = sqltable.Query(ctx, q, query, args, func(scan func(...any) error) error {
		texts = append(texts, "")
		return scan(&texts[len(texts)-1])
	})
	return texts, err
}

// ExecAll executes statements in their order. Its error has the statement.
func ExecAll(ctx context.Context, q Querier, statements ...string) error {
	for _, statement := range statements {
		if _, err := q.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.300s: %w", statement, err)
		}
	}
	return nil
}
