package sqllease

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

const defaultTable = "snowflake_leases"

// extendAttempts bounds how often Extend meets another server. One is a failover; more is a pool over several primaries.
const extendAttempts = 10

// Store is a [lease.Store] in a table. It is safe for concurrent use.
//
// Once a *sql.DB was closed the errors wrap [os.ErrClosed], and leases end.
type Store struct {
	db      sqldb.DB
	dialect dialect
	table   string                  // quoted
	queries atomic.Pointer[queries] // for this server; nil as long as it is unknown, and after an error

	found     atomic.Pointer[string] // the table that PostgreSQL found first
	revisions sync.Map               // by namespace, the greatest of its row that was seen
	shares    sync.Map               // by namespace, the last one that was seen: a server that takes over may not know it
}

var _ lease.Store = (*Store)(nil)

// Option is a setting of [New]. A nil Option is an error that matches lease.ErrOption.
type Option func(*Store) error

// WithTable sets the table's name, table or schema.table; the default is snowflake_leases in the connection's schema. On
// PostgreSQL give the schema, so that all processes use the same table whatever their search_path and their rights are.
// Each part has 1 to 63 letters, digits and underscores. It is quoted, so its case counts.
func WithTable(name string) Option {
	return func(s *Store) (err error) {
		s.table, err = s.dialect.table(name)
		return err
	}
}

// New returns a store on the database. It does not talk to it. A *sql.Conn is one connection: for one lease, or one call
// of the store, at a time. It returns [lease.ErrOption] for what [sqldb.Validate] refuses, and for a bad option.
func New(db sqldb.DB, d sqldb.Dialect, opts ...Option) (*Store, error) {
	if err := sqldb.Validate(db, d); err != nil {
		return nil, fmt.Errorf("%w: %w", lease.ErrOption, err)
	}
	s := &Store{db: db, dialect: dialect(d)}
	for _, opt := range append([]Option{WithTable(defaultTable)}, opts...) {
		if opt == nil {
			return nil, fmt.Errorf("%w: nil Option", lease.ErrOption)
		}
		if err := opt(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Extend implements [lease.Store]; the time is the database's. It also returns [lease.ErrOption] for a server of the
// MySQL protocol that ignores LAST_INSERT_ID(x), which the store needs.
func (s *Store) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := lease.ValidateExtension(c, ttl); err != nil {
		return time.Time{}, err
	}
	return await(ctx, s, "extend", func(ctx context.Context) (time.Time, error) { return s.extend(ctx, c, horizon, ttl) })
}

func (s *Store) extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	q, err := s.prepare(ctx)
	if err != nil {
		return time.Time{}, s.failed("extend", err)
	}
	args := []any{
		horizon, horizon, c.Next, milliseconds(ttl),
		c.Namespace, c.Worker, c.Epoch, c.Token, c.Next, milliseconds(c.Reach), s.revision(c.Namespace),
	}
	query, n := q.extend, len(args)
	for range extendAttempts {
		now, found, err := s.update(ctx, query, args...)
		switch {
		case err != nil:
			return time.Time{}, s.failed("extend", err)
		case found && now <= 0:
			return time.Time{}, fmt.Errorf("%w: the server ignores LAST_INSERT_ID(x) in an UPDATE of table %s", lease.ErrOption, s.table)
		case found:
			return time.UnixMilli(now), nil
		}
		horizon := int64(0)
		if q, err = s.renew(ctx); err == nil {
			horizon, err = s.horizon(ctx, c.Namespace)
		}
		if err == nil {
			err = s.meet(ctx, q, c.Namespace, milliseconds(c.Reach), horizon)
		}
		var row assessment
		if err == nil {
			row, err = s.assess(ctx, q, c)
		}
		if err != nil {
			return time.Time{}, s.failed("extend", err)
		}
		query, args = q.extend, args[:n]
		args[n-1] = s.revision(c.Namespace)
		switch {
		case !row.owned:
			return time.Time{}, lostClaim(c)
		case row.protocol > knownProtocol:
			return time.Time{}, laterVersion(c.Namespace, row.protocol)
		case !row.inForce: // the layout has changed, or the row is one of those that a mark could not find
			return time.Time{}, lostClaim(c)
		case !row.sameServer:
		case row.limit < milliseconds(c.Reach):
			return time.Time{}, &lease.ReachError{
				Namespace: c.Namespace, Reach: c.Reach,
				Limit: duration(row.limit), Wait: duration(row.settles),
			}
		case row.known:
		case !c.Unexpired(): // by now, as this server has answered only now
			return time.Time{}, lostClaim(c)
		default:
			query, args = q.assured, append(args[:n-1:n-1], row.server, row.changed)
		}
	}
	return time.Time{}, fmt.Errorf("lease: extend in table %s: the connections lead to different servers: each of %d attempts found another one",
		s.table, extendAttempts)
}

// assessment is what decides why an extension was refused.
type assessment struct {
	owned      bool
	protocol   int64
	inForce    bool   // the layout and protocol of the row are those of the namespace
	server     string // that the namespace knows
	changed    int64  // when that one took over
	limit      int64  // of the reach, in milliseconds
	settles    int64  // in so many milliseconds the limit rises
	sameServer bool   // as the one that answered
	known      bool   // the row certainly is the owner's
}

func (s *Store) assess(ctx context.Context, q *queries, c lease.Claim) (a assessment, err error) {
	args := []any{c.Namespace, c.Worker, c.Epoch, c.Token, c.Next}
	err = s.query(ctx, q.assess, args, func(scan scan) error {
		var inForce, same, known, revision int64
		if err := scan(&a.protocol, &a.server, &a.changed, &revision, &a.limit, &a.settles, &inForce, &same, &known); err != nil {
			return err
		}
		a.owned, a.inForce = true, inForce == 1
		a.sameServer, a.known = same == 1 && revision >= s.revision(c.Namespace), known == 1
		s.sawRevision(c.Namespace, revision)
		return nil
	})
	return a, err
}

// Release implements [lease.Store]. The row keeps its token, so that a release whose reply was lost can be repeated.
func (s *Store) Release(ctx context.Context, c lease.Claim, horizon int64) error {
	horizon = max(0, horizon)
	changed, err := await(ctx, s, "release", func(ctx context.Context) (int64, error) {
		q, err := s.prepare(ctx)
		if err != nil {
			return 0, s.failed("release", err)
		}
		return s.change(ctx, "release", q.release, horizon, horizon,
			c.Namespace, c.Worker, c.Epoch, c.Token, cmp.Or(c.Next, c.Token))
	})
	if err == nil && changed == 0 {
		err = lostClaim(c)
	}
	return err
}

// List implements [lease.Store].
func (s *Store) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	return await(ctx, s, "list", func(ctx context.Context) ([]lease.Entry, error) {
		entries, err := s.list(ctx, namespace)
		entries = slices.DeleteFunc(entries, func(e lease.Entry) bool { return e.Worker < 0 })
		for i := range entries {
			entries[i].Token = ""
		}
		return entries, err
	})
}

// workers returns the rows of the workers with their tokens. It returns errAgain if the namespace is not as it was looked at:
// another node of a cluster may have answered, which lacks rows that were added before.
func (s *Store) workers(ctx context.Context, name string, n *namespace) ([]lease.Entry, error) {
	entries, err := s.list(ctx, name)
	if err == nil && (len(entries) == 0 || entries[0].Worker >= 0 || entries[0].Layout != n.layout || entries[0].Holder.Version != n.text) {
		err = errAgain
	}
	if err != nil {
		return nil, err
	}
	return entries[1:], nil
}

// Layout returns the layout of the namespace, or the zero Layout if nobody has used it.
func (s *Store) Layout(ctx context.Context, namespace string) (snowflake.Layout, error) {
	return await(ctx, s, "read the layout", func(ctx context.Context) (snowflake.Layout, error) {
		_, v, err := s.enter(ctx, lease.Request{Namespace: namespace})
		switch {
		case err != nil:
			return snowflake.Layout{}, s.failed("read the layout", err)
		case v.namespace == nil:
			return snowflake.Layout{}, nil
		}
		return snowflake.ParseLayout(v.namespace.layout)
	})
}

// list is List with the tokens, and with the rows of the namespaces.
func (s *Store) list(ctx context.Context, namespace string) ([]lease.Entry, error) {
	q, err := s.prepare(ctx) // also since reading a stranger's view may run its code
	if err != nil {
		return nil, s.failed("list", err)
	}

	query, args := q.listAll, []any(nil)
	if namespace != "" {
		query, args = q.listNamespace, []any{namespace}
	}
	var entries []lease.Entry
	err = s.query(ctx, query, args, func(scan scan) error {
		var e lease.Entry
		var expires, revision, now int64
		err := scan(&e.Namespace, &e.Worker, &e.Epoch, &e.Token, &e.Horizon, &expires, &revision, &e.Layout,
			&e.Holder.Host, &e.Holder.PID, &e.Holder.Version, &now)
		e.Expires, e.Held = time.UnixMilli(expires), expires > now
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, s.failed("list", err)
	}
	// The database's order of texts would depend on its collation.
	slices.SortFunc(entries, func(a, b lease.Entry) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Worker, b.Worker))
	})
	return entries, nil
}

// failed wraps an error so that a closed pool, which is final, differs from a database that does not answer.
func (s *Store) failed(what string, err error) error {
	s.queries.Store(nil)                                           // the database may be another one by now
	if strings.HasSuffix(err.Error(), "sql: database is closed") { // database/sql does not export the error
		err = fmt.Errorf("%w%.0w", err, os.ErrClosed) // without the text of the latter, which is about a file
	}
	return fmt.Errorf("lease: %s in table %s: %w", what, s.table, err)
}

func lostClaim(c lease.Claim) error {
	return fmt.Errorf("%w: worker %d in namespace %q, epoch %d", lease.ErrLost, c.Worker, c.Namespace, c.Epoch)
}

// milliseconds rounds up.
func milliseconds(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}
