package sqllease

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
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

	found     atomic.Pointer[tables] // those that PostgreSQL found first
	revisions sync.Map               // by namespace, the greatest that was seen
	shares    sync.Map               // by namespace, the last one that was seen: the next server may not know it
}

var _ leasestore.Store = (*Store)(nil)

// Option is a setting of [New]. A nil Option is an error that matches lease.ErrOption.
type Option func(*Store) error

// WithTables sets with what the names of the two tables begin: "app.snowflake_" names app.snowflake_namespaces and
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

	s := &Store{db: db, dialect: dialect(d)}
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
	var server interface{ SQLState() string } // of pgx and lib/pq
	if errors.As(err, &server) {
		return server.SQLState() == "42501"
	}
	return deniedText.MatchString(err.Error())
}

// milliseconds rounds up.
func milliseconds(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}
