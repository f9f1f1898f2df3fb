package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"
)

// An engine is what a database does for a Set.
type engine interface {
	// maxName is the limit of a name, in bytes.
	maxName() int

	// inspect reads the table. It returns ErrTable for one that can't be maintained.
	inspect(ctx context.Context, q querier, s *Set) (*state, error)

	// nth returns a key of a partition, or of a loose table: in their order, the one after n others of those with
	// lo <= key && key < hi. It reads n+1 entries of an index.
	nth(ctx context.Context, q querier, s *Set, p part, lo, hi int64, n int) (id int64, found bool, err error)

	// greatest returns the greatest key of a partition that is below hi. It reads one entry of an index.
	greatest(ctx context.Context, q querier, s *Set, p part, hi int64) (id int64, found bool, err error)

	// taken reports whether a new partition can't have the name, because a table has it that is no partition of s.
	taken(ctx context.Context, q querier, s *Set, st *state, table string) (bool, error)

	// look calls f on a connection whose waits for locks are limited to the lock timeout. f only reads.
	look(ctx context.Context, db *sql.DB, s *Set, f func(querier) error) error

	// alone calls f while no other process maintains the table, on a connection whose waits for locks are limited to
	// the lock timeout. It returns errBusy if another process does, without a wait. On PostgreSQL f runs in a
	// transaction, which is committed if f returns nil.
	alone(ctx context.Context, db *sql.DB, s *Set, f func(querier) error) error

	// statements returns the statements that execute a step.
	statements(s *Set, st *state, step Step) []string

	// execute executes a step under alone. It returns errBusy if a row with a key below the step's floor was written
	// since the plan was made.
	execute(ctx context.Context, q querier, s *Set, st *state, step Step) error

	// finish executes the part of a step that can't run under alone, after execute: DETACH CONCURRENTLY, and the
	// callback of Archive, after which it marks the loose table as archived. Only one process does either at a time; it
	// returns errBusy in the others, and nil if another one has done it.
	finish(ctx context.Context, db *sql.DB, s *Set, st *state, step Step) error

	// move moves the rows with lo <= key && key < hi from the default partition into a new one with this name and these
	// bounds, under alone.
	move(ctx context.Context, q querier, s *Set, st *state, table string, lo, hi int64) (moved int64, err error)

	// limit returns how long a wait for a lock really is at most, for a lock timeout.
	limit(timeout time.Duration) time.Duration

	// refused reports whether a statement failed because of its limit for locks, or a deadlock.
	refused(err error) bool
}

// querier is a connection or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// oneKey reads the key that a query returns for lo <= key && key < hi and the end of its ORDER BY.
func oneKey(ctx context.Context, q querier, query, key string, lo, hi int64, order string) (id int64, found bool, err error) {
	query += " WHERE true"
	if lo != noLow {
		query += fmt.Sprintf(" AND %s >= %d", key, lo)
	}
	if hi != noHigh {
		query += fmt.Sprintf(" AND %s < %d", key, hi)
	}
	err = q.QueryRowContext(ctx, fmt.Sprintf("%s ORDER BY %s %s", query, key, order)).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return id, err == nil, err
}

// errBusy means that another process maintains the table.
var errBusy = errors.New("partition: another process maintains the table")

// state is what an engine found.
type state struct {
	table    name      // with its schema
	now      time.Time // by the clock of the database
	parts    []part    // ascending, without the default partition
	fallback *part     // the default partition
	loose    []part    // detached by an earlier call that did not get to what follows
	owner    string    // of the table, if it is another role than the current one; PostgreSQL
	storage  string    // the access method and the tablespace of new partitions; PostgreSQL
	grantees string    // roles whose default privileges new partitions lose; PostgreSQL
	identity string    // the replica identity of new partitions, if it is not the default; PostgreSQL
	plain    bool      // a backslash in a literal is one; MySQL
	trigger  string    // prevents that partitions become tables; MariaDB
}

// part is a partition: the rows with lo <= key && key < hi.
type part struct {
	name
	lo, hi   int64  // noLow, noHigh: without a bound
	rows     int64  // as the database estimates
	bytes    int64  // with indexes
	oid      int64  // PostgreSQL
	comment  string // on MySQL, of the table that a partition belongs to
	fixed    bool   // has partitions of its own, or is a foreign table: it is never detached or dropped
	pending  bool   // a DETACH CONCURRENTLY was interrupted
	archived bool   // a loose table that the callback of Archive is done with
	due      bool   // it is to be archived, or will be when this Set has detached it

	interrupted bool // a partition with the mark of a DETACH CONCURRENTLY that has not begun

	// MySQL
	parent name   // of a partition; a loose table has none
	twin   string // a table that an earlier call made for the rows of the partition
	moved  bool   // it has the rows
	split  bool   // both have rows
}

const (
	noLow  = math.MinInt64
	noHigh = math.MaxInt64
)
