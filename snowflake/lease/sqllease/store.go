package sqllease

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlflake/sqlflake/internal/sqltable"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/attempt"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Store is a [leasestore.Store] in two tables: one of namespaces, one of leases. It is safe for concurrent use.
//
// Once a *sql.DB was closed the errors wrap [os.ErrClosed], and leases end.
type Store struct {
	db      sqldb.DB
	dialect dialect
	tables  tables
	server  atomic.Pointer[server] // nil as long as it is unknown, and after an error

	found  atomic.Pointer[tables] // those that PostgreSQL found first
	shares sync.Map               // by namespace, the last one that was seen: the next server may not know it

	mu        sync.Mutex       // guards revisions
	revisions map[string]int64 // by namespace, the greatest that was seen
}

var _ leasestore.Store = (*Store)(nil)

// Option is a setting of [New]. A nil Option is an error that matches lease.ErrOption.
type Option func(*Store) error

// WithTables sets the prefix of the names of the two tables: "app.snowflake_" names app.snowflake_namespaces and
// app.snowflake_leases. The default is "snowflake_", in the connection's schema. On PostgreSQL give the schema, so that
// all processes use the same tables whatever their search_path and their rights are.
//
// The schema, 1 to 63 letters, digits and underscores, may be left out; the rest has 1 to 53 of them. Both are quoted,
// so their case counts. "" is the default.
func WithTables(prefix string) Option {
	return func(s *Store) (err error) {
		s.tables, err = s.dialect.tables(prefix)
		return err
	}
}

// New returns a store on the database. It does not talk to it. A *sql.Conn is one connection: for one lease, or one
// call of the store, at a time. It returns [lease.ErrOption] for what [sqldb.Validate] refuses, and for a bad option.
func New(db sqldb.DB, d sqldb.Dialect, opts ...Option) (*Store, error) {
	if err := sqldb.Validate(db, d); err != nil {
		return nil, fmt.Errorf("%w: %w", lease.ErrOption, err)
	}

	s := &Store{db: db, dialect: dialect(d), revisions: map[string]int64{}}
	for _, opt := range append([]Option{WithTables(defaultPrefix)}, opts...) {
		if opt == nil {
			return nil, fmt.Errorf("%w: nil Option", lease.ErrOption)
		}
		if err := opt(s); err != nil {
			return nil, err
		}
	}

	return s, nil
}

// List implements [leasestore.Store].
func (s *Store) List(ctx context.Context, namespace string) ([]leasestore.Entry, error) {
	return await(ctx, s, "list", func(ctx context.Context) ([]leasestore.Entry, error) {
		return s.list(ctx, namespace)
	})
}

func (s *Store) list(ctx context.Context, namespace string) ([]leasestore.Entry, error) {
	server, err := s.currentServer(ctx) // also since reading a stranger's view may run its code
	if err != nil {
		return nil, s.failed("list", err)
	}

	var entries []leasestore.Entry
	orphan := ""
	err = server.query(ctx, s.on(ctx), server.list, named{"namespace": namespace}, func(scan scan) error {
		var e leasestore.Entry
		var expires, now int64
		var layout sql.NullString
		var purpose string
		err := scan(&e.Namespace, &e.Worker, &e.Epoch, &e.Horizon, &expires, &purpose, &e.Holder.Host, &e.Holder.PID,
			&e.Holder.Version, &layout, &now)
		if !layout.Valid {
			orphan = e.Namespace
		}
		e.Layout, e.Expires, e.Held = layout.String, time.UnixMilli(expires), expires > now
		if purpose != "" {
			e.Held, e.Holder = true, reservedHolder(purpose, e.Holder)
		}
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, s.failed("list", err)
	}
	if orphan != "" {
		return nil, fmt.Errorf("%w: namespace %q has leases in the table %s, and is missing in %s: restore it",
			lease.ErrDamaged, orphan, server.tables.leases, server.tables.namespaces)
	}

	// The database's order of texts would depend on its collation.
	slices.SortFunc(entries, func(a, b leasestore.Entry) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Worker, b.Worker))
	})
	return entries, nil
}

// reservedHolder returns the holder of a worker that is reserved for a purpose. If SQL functions use it, h.Host is the
// name of the function.
func reservedHolder(purpose string, h leasestore.Holder) leasestore.Holder {
	if h.Host != "" {
		purpose += ", " + h.Host
	}
	reserved := leasestore.ReservedHolder(purpose)
	reserved.PID, reserved.Version = h.PID, h.Version
	return reserved
}

// failed wraps an error, unless it is nil, so that a closed pool and a missing right, which no repetition changes,
// differ from a database that does not answer.
func (s *Store) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	s.server.Store(nil) // the database may be another one by now

	switch {
	case strings.HasSuffix(err.Error(), "sql: database is closed"): // database/sql does not export the error
		err = fmt.Errorf("%w%.0w", err, os.ErrClosed) // without the text of the latter, which is about a file
	case isDenied(err):
		err = fmt.Errorf("%w: the role needs the rights to SELECT, INSERT and UPDATE the tables, and if they are "+
			"missing, one that may create them: the command `sqlflake sql leases --dialect %s` prints the "+
			"statements: %w",
			lease.ErrOption, s.dialect, err)
	}
	return fmt.Errorf("lease: %s in table %s: %w", what, s.tables.leases, err)
}

// deniedText is what the MySQL and SQLite drivers say when a right is missing. They export no interface for it.
var deniedText = regexp.MustCompile(`\bError (1044|1142|1143) |attempt to write a readonly database`)

// isDenied reports whether the role lacks a right to the table.
func isDenied(err error) bool {
	return sqltable.State(err) == "42501" || deniedText.MatchString(err.Error())
}

// milliseconds rounds up, but for the last millisecond of all durations.
func milliseconds(d time.Duration) int64 {
	return (min(d, math.MaxInt64-time.Millisecond) + time.Millisecond - 1).Milliseconds()
}

// Open takes a worker in the database: it calls [New], [Store.Migrate] and [lease.Open] with the options. Call these
// three yourself for tables with other names ([WithTables]).
//
// It creates the tables snowflake_namespaces and snowflake_leases if the database says that they are missing. All
// processes must reach the same ones: see Migrate. The role must be allowed to SELECT, INSERT and UPDATE the tables,
// and to create them only if they do not exist: [Schema] returns the statements for a role that may. Nothing else is
// needed, and db stays the caller's: close it after the lease.
//
// ctx bounds the waits of Open, not the life of the lease. If the database does not answer, Open fails after
// [lease.DefaultWindow]. It returns the errors of New, Migrate and lease.Open.
func Open(ctx context.Context, db sqldb.DB, d sqldb.Dialect, opts ...lease.Option) (*lease.Lease, error) {
	store, err := New(db, d)
	if err != nil {
		return nil, err
	}
	prepare, cancel := context.WithTimeout(ctx, lease.DefaultWindow) // as lease.Open bounds its calls
	err = store.Migrate(prepare)
	cancel()
	if err != nil {
		return nil, err
	}
	return lease.Open(ctx, store, opts...)
}

// await makes a call, and returns when it or its context ends.
func await[T any](ctx context.Context, s *Store, what string, call func(ctx context.Context) (T, error)) (T, error) {
	if s.dialect == sqlite {
		return abandon(ctx, s, what, call)
	}

	ctx, done, err := s.connect(ctx)
	if err != nil {
		var none T
		return none, s.failed(what, fmt.Errorf("no connection: %w", err))
	}
	defer done()
	return call(ctx)
}

// abandon returns when the context ends, even if the call does not: SQLite drivers check the context only after the
// busy timeout, when another process has locked the file. Whatever such a call still does counts as done without a
// reply. If the context has ended before, database/sql returns at once, and says whether it is closed.
func abandon[T any](ctx context.Context, s *Store, what string, call func(ctx context.Context) (T, error)) (T, error) {
	if ctx.Err() != nil {
		return call(ctx)
	}

	type result struct {
		value T
		err   error
	}

	done := make(chan result, 1)
	go func() {
		value, err := call(ctx)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, s.failed(what, ctx.Err())
	}
}

// connect returns the context for the statements of a call, and what ends it. If the pool has no idle connection, the
// call of a lease waits for one that may outlive it. database/sql would stop connecting with the call, and give up its
// place in the pool's queue: where either takes longer than a call, no call would ever get a connection.
func (s *Store) connect(ctx context.Context) (context.Context, func(), error) {
	pool, ok := s.db.(*sql.DB)
	if !ok {
		return ctx, func() {}, nil
	}
	open := func(ctx context.Context) (io.Closer, error) { return pool.Conn(ctx) }
	return attempt.Connect(ctx, pool.Stats().Idle > 0, open)
}

// on returns the connection of the call, or the pool.
func (s *Store) on(ctx context.Context) sqldb.DB {
	if conn, ok := attempt.Conn(ctx).(*sql.Conn); ok {
		return conn
	}
	return s.db
}

// Revoke takes a worker away from its owner and makes it free at once, although its lease has not expired. It is for a
// person who knows that the owner is dead, or who wants it to stop; of e, an entry that [Store.List] has returned, the
// namespace, the worker and the epoch count.
//
// This repeats no ID. To the protocol it is an acquisition by an owner that issues nothing: the epoch rises, the token
// changes, and the horizon stays, below which the owner may still issue. An owner that is alive finds out at its next
// extension, after half a window at most, and stops with [lease.ErrLost] or continues with another worker. IDs may
// repeat only if a replica without the revocation is promoted before that extension: then the owner keeps the worker
// there.
//
// It returns [lease.ErrLost], without a change, if the row has another epoch, so a worker that was taken again since
// List is safe, and for a worker that is reserved, which has no lease to lose.
func (s *Store) Revoke(ctx context.Context, e leasestore.Entry) error {
	var token [16]byte
	_, _ = rand.Read(token[:]) // never fails: crypto/rand
	lost := fmt.Errorf("%w, or is reserved: worker %d in namespace %q does not have epoch %d",
		lease.ErrLost, e.Worker, e.Namespace, e.Epoch)

	return s.end(ctx, "revoke", lost, textsOf[s.dialect].revoke, named{
		"token": hex.EncodeToString(token[:]), "namespace": e.Namespace, "worker": e.Worker, "epoch": e.Epoch,
	})
}

// PurposeSQL is the purpose of a worker that is reserved for SQL functions, which package sqlfunc makes. A namespace
// that has one can't move to another layout.
const PurposeSQL = "SQL functions"
