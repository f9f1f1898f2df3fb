// Package sqllease keeps leases in a table of PostgreSQL, MySQL, MariaDB or SQLite, through database/sql.
package sqllease

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const defaultTable = "snowflake_leases"

// Store is a [lease.Store] in a table of PostgreSQL, MySQL, MariaDB or SQLite. Make it with
// [New], and the table with [Store.Migrate]. It is safe for concurrent use.
//
// Workers expire by the database's clock alone, kept in milliseconds; a SQLite
// file has the clock of its host, and of that host only. An extension is one
// statement, an acquisition is two or three (five for the first of a namespace) if
// nobody else asks at the same time. None needs a transaction, more than one
// connection, or the same connection as the last, so the pool may be small,
// shared, and behind a pooler.
//
// A horizon is as durable as a commit of the database. With synchronous_commit =
// off (PostgreSQL), innodb_flush_log_at_trx_commit other than 1 (MySQL),
// synchronous = OFF, or NORMAL with a write-ahead log (SQLite), or a failover to
// a replica that lags behind, a crash can take back what was answered.
// The pool must lead to the primary: a replica can't be extended. Its connections
// must commit each statement: with autocommit = 0 (MySQL) nothing is ever promised.
//
// Once a *sql.DB was closed the errors wrap [os.ErrClosed], and leases end.
type Store struct {
	db      DB
	dialect Dialect
	table   string // quoted
	queries queries
}

var _ lease.Store = (*Store)(nil)

// DB is what a [Store] needs of a database: *sql.DB and gorm.ConnPool have it.
//
// A *sql.Conn has it too, and is one connection: for one lease, or one call of
// the store, at a time. So has a *sql.Tx, which MUST NOT be used: a horizon
// counts when it is committed, and that of a transaction may be rolled back
// after IDs below it were issued.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Option is a setting of [New].
type Option func(*config)

type config struct{ table string }

// WithTable sets the table's name, table or schema.table; the default is
// snowflake_leases in the connection's schema. It is quoted, so its case counts.
func WithTable(name string) Option { return func(c *config) { c.table = name } }

// New returns a store on the database. It does not talk to it. It returns
// [ErrOption] for a nil db or a nil pointer in it, an unknown dialect, and a table's
// name with other characters than letters, digits and underscores in its one or two
// parts.
func New(db DB, dialect Dialect, opts ...Option) (*Store, error) {
	if v := reflect.ValueOf(db); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("%w: the database is nil: %T", lease.ErrOption, db)
	}
	if !dialect.valid() {
		return nil, fmt.Errorf("%w: %v is no dialect, want Postgres, MySQL or SQLite", lease.ErrOption, dialect)
	}
	config := config{table: defaultTable}
	for _, opt := range opts {
		opt(&config)
	}
	table, err := dialect.table(config.table)
	if err != nil {
		return nil, err
	}
	return &Store{db: db, dialect: dialect, table: table, queries: newQueries(dialect, table)}, nil
}

// Extend is as [lease.Store] says; the time is the database's. It returns [ErrOption]
// for a ttl below a millisecond.
func (s *Store) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := lease.ValidateTTL(ttl); err != nil {
		return time.Time{}, err
	}
	if !possible(c) {
		return time.Time{}, lostClaim(c)
	}
	now, ok, err := s.update(ctx, s.queries.extend, horizon, horizon, milliseconds(ttl), c.Namespace, c.Worker, c.Epoch, c.Token)
	if err != nil {
		return time.Time{}, s.failed("extend", err)
	}
	if !ok {
		return time.Time{}, lostClaim(c)
	}
	return time.UnixMilli(now), nil
}

// Release is as [lease.Store] says. The row keeps the claim's token, so that a release
// whose reply was lost can be repeated until somebody takes the worker.
func (s *Store) Release(ctx context.Context, c lease.Claim, horizon int64) error {
	if !possible(c) {
		return lostClaim(c)
	}
	horizon = max(0, horizon)
	result, err := s.db.ExecContext(ctx, s.queries.release, horizon, horizon, c.Namespace, c.Worker, c.Epoch, c.Token)
	if err != nil {
		return s.failed("release", err)
	}
	changed, err := result.RowsAffected()
	if err != nil {
		return s.failed("release", err)
	}
	if changed == 0 {
		return lostClaim(c)
	}
	return nil
}

// List is as [lease.Store] says.
func (s *Store) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	query, args := s.queries.listAll, []any(nil)
	if namespace != "" {
		query, args = s.queries.listNamespace, []any{namespace}
	}
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, s.failed("list", err)
	}
	defer rows.Close()
	var entries []lease.Entry
	for rows.Next() {
		var e lease.Entry
		var token string
		var expires, revision, now int64
		if err := rows.Scan(&e.Namespace, &e.Worker, &e.Epoch, &token, &e.Horizon, &expires, &revision, &e.Layout,
			&e.Holder.Host, &e.Holder.PID, &e.Holder.Version, &now); err != nil {
			return nil, s.failed("list", err)
		}
		e.Expires, e.Held = time.UnixMilli(expires), expires > now
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		return nil, s.failed("list", err)
	}
	// Not by the database, whose order of texts depends on its collation.
	slices.SortFunc(entries, func(a, b lease.Entry) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Worker, b.Worker))
	})
	return entries, nil
}

// update runs an UPDATE of one row that answers with a number, and tells whether
// the row was found. There is no second statement between which and the first
// something could happen.
func (s *Store) update(ctx context.Context, query string, args ...any) (answer int64, found bool, err error) {
	if !s.queries.lastInsertID {
		return s.number(ctx, query, args...)
	}
	result, err := s.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, false, err
	}
	changed, err := result.RowsAffected()
	if err != nil || changed == 0 {
		return 0, false, err
	}
	answer, err = result.LastInsertId()
	return answer, err == nil, err
}

// number runs a statement that answers with one row of one number, or none.
func (s *Store) number(ctx context.Context, query string, args ...any) (answer int64, found bool, err error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return 0, false, err
	}
	defer rows.Close()
	// To the end, unlike QueryRow: the commit comes after the row, and it is the commit that counts.
	for rows.Next() {
		if err := rows.Scan(&answer); err != nil {
			return 0, false, err
		}
		found = true
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return 0, false, err
	}
	return answer, found, nil
}

// failed tells a pool that was closed for good from a database that is away.
func (s *Store) failed(what string, err error) error {
	if strings.HasSuffix(err.Error(), "sql: database is closed") { // which database/sql does not export
		err = poolClosedError{err}
	}
	return fmt.Errorf("lease: %s in table %s: %w", what, s.table, err)
}

// poolClosedError is database/sql's error as an os.ErrClosed, whose text speaks of a file.
type poolClosedError struct{ error }

func (e poolClosedError) Unwrap() error      { return e.error }
func (poolClosedError) Is(target error) bool { return target == os.ErrClosed }

// possible is false for claims that Acquire never hands out; the namespace's
// own row must not be taken for a worker's.
func possible(c lease.Claim) bool { return c.Worker >= 0 && c.Token != "" }

func lostClaim(c lease.Claim) error {
	return fmt.Errorf("%w: worker %d in namespace %q, epoch %d", lease.ErrLost, c.Worker, c.Namespace, c.Epoch)
}

// milliseconds rounds up.
func milliseconds(d time.Duration) int64 {
	return int64((d-1)/time.Millisecond) + 1
}
