package gormplugin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin/internal/connpool"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// openStore returns the store for the leases of a handle, whose tables it creates if needed, and the window that suits
// the database.
func openStore(ctx context.Context, db *gorm.DB, prefix string) (*leaseStore, time.Duration, error) {
	dialect := sqldb.Dialect(db.Name()) // GORM and sqllease have the same names for them
	if dialect != sqldb.Postgres && dialect != sqldb.MySQL && dialect != sqldb.SQLite {
		return nil, 0, fmt.Errorf("gormplugin: Open has no leases for the dialect %q, only for postgres, mysql and sqlite; "+
			"give New a generator of lease.Open with another store, or of snowflake.New: %w", dialect, gorm.ErrUnsupportedDriver)
	}
	if prefix == "" {
		prefix = "snowflake_"
	}
	pool, err := writePool(ctx, "Open", db, prefix+"namespaces", prefix+"leases")
	if err != nil {
		return nil, 0, err
	}
	store, err := sqllease.New(pool, dialect, sqllease.WithTables(prefix))
	if err != nil {
		return nil, 0, fmt.Errorf("gormplugin: %w", err)
	}
	if err := store.Migrate(ctx); err != nil {
		if isDenied(err) {
			err = fmt.Errorf("%w; this role needs the rights to SELECT, INSERT and UPDATE, and if the tables are missing one that may "+
				"create them: the command `sqlflake sql leases --dialect %s` prints the statements", err, dialect)
		}
		return nil, 0, fmt.Errorf("gormplugin: %w", err)
	}
	window := time.Minute // creates survive an outage of half of it at least
	if server := connpool.SQLDB(pool); dialect == sqldb.SQLite || server != nil && server.Stats().MaxOpenConnections == 1 {
		window = lease.MaxWindow
	}
	kept := &leaseStore{Store: store, pool: pool}
	if dialect == sqldb.SQLite {
		var file string
		row := pool.QueryRowContext(ctx, "SELECT coalesce(file, '') FROM pragma_database_list WHERE name = 'main'")
		if err := row.Scan(&file); err != nil {
			return nil, 0, fmt.Errorf("gormplugin: find the file of the SQLite database: %w", err)
		}
		if file == "" {
			kept.Store = &memoryStore{Store: store, pool: pool}
		}
	}
	return kept, window, nil
}

// deniedText is what the drivers of MySQL and SQLite say of a missing right. They export no interface for it.
var deniedText = regexp.MustCompile(`\bError (1044|1142|1143) |attempt to write a readonly database`)

// isDenied reports whether the role lacks a right to the table, which no repetition changes.
func isDenied(err error) bool {
	var server interface{ SQLState() string } // of pgx and lib/pq
	if errors.As(err, &server) {
		return server.SQLState() == "42501"
	}
	return err != nil && deniedText.MatchString(err.Error())
}

// leaseStore keeps the result of the last extension, for creates that wait for one.
type leaseStore struct {
	lease.Store
	pool    gorm.ConnPool             // of the table
	failure atomic.Pointer[error]     // to nil after a success
	until   atomic.Pointer[time.Time] // about when the clock reaches the horizon
	floor   atomic.Pointer[time.Time] // when IDs are due after a failover; nil without one
	window  atomic.Int64              // of the last extension, a time.Duration
	now     func() time.Time

	// Of the extension under way, for the calls of Extend, which are made one after another. A call that is repeated
	// has the same next token, and the horizon of the first one.
	next  string
	begin time.Time
	reach time.Duration // of the requested window; the namespace may allow only a shorter one
}

// isFresh reports whether the horizon is ahead of the clock, about: of the wall clock, since the monotonic one stands
// still while a laptop sleeps, and of the monotonic one, since the wall clock may have been set back. The floor after a
// failover must be behind it.
func (s *leaseStore) isFresh() bool {
	until, floor, now := s.until.Load(), s.floor.Load(), s.now()
	return (floor == nil || now.After(*floor)) && until != nil && now.Before(*until) && now.Round(0).Before(*until)
}

func (s *leaseStore) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if r.TTL > forever { // a reservation, which is not of this lease
		return s.Store.Acquire(ctx, r)
	}
	s.reach = r.Reach
	grant, err := s.Store.Acquire(ctx, r)
	if isDenied(err) { // lease.Open does not repeat an ErrOption; a running lease does
		err = fmt.Errorf("%w: the role needs the rights to SELECT, INSERT and UPDATE the table: %w", lease.ErrOption, err)
	}
	s.failure.Store(&err)
	if err == nil && !grant.Floor.IsZero() {
		s.floor.Store(&grant.Floor)
	}
	return grant, err
}

func (s *leaseStore) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if c.Next != s.next {
		s.next, s.begin = c.Next, s.now()
	}
	window := ttl/2 - (s.reach - c.Reach) // the expiry is two windows ahead, the horizon one, or less
	s.window.Store(int64(window))
	now, err := s.Store.Extend(ctx, c, horizon, ttl)
	s.failure.Store(&err)
	if err == nil {
		until := s.begin.Add(window)
		s.until.Store(&until)
	}
	return now, err
}

// leasedGenerator is the generator of a lease.
type leasedGenerator struct {
	*snowflake.Generator
	store *leaseStore
}

// Fill adds the reason to snowflake.ErrLeaseStalled, if one is known.
func (g *leasedGenerator) Fill(ctx context.Context, dst []snowflake.ID) error {
	err := g.Generator.Fill(ctx, dst)
	if errors.Is(err, snowflake.ErrLeaseStalled) {
		if failure := g.store.failure.Load(); failure != nil && *failure != nil {
			return fmt.Errorf("%w; the extension fails: %v", err, *failure) //nolint:errorlint // its context is not the caller's
		}
	}
	return err
}

// wait returns the callback that fills keys before GORM takes a connection for the transaction, if the horizon of the
// lease has passed, after an outage or the sleep of a laptop: fill then waits for it to rise. If all waiting calls held
// a connection, there might be none left for the extension.
func (h *handle) wait(gen *leasedGenerator) func(db *gorm.DB) {
	return func(db *gorm.DB) {
		stmt := db.Statement
		if db.Error != nil || isBuilt(stmt) {
			return // it runs last if the application has removed gorm:begin_transaction
		}
		h.discard(stmt)
		if _, inside := connpool.Unwrap(stmt.ConnPool); !inside && !gen.store.isFresh() {
			h.fill(db)
			if in := h.insertOf(stmt); in != nil {
				in.Waited = true
			}
		}
	}
}

// memoryStore is for SQLite databases without a file. A statement that finds the pool's connection in use would open
// another one, and with it another database, so only Acquire and Release use the database. In between the worker is
// held without an end: nobody outside of this process could take it.
type memoryStore struct {
	lease.Store
	pool  gorm.ConnPool
	token atomic.Pointer[string] // that the row has, since no extension reaches it
}

// forever is how long a worker is held in a database that ends with its process: a century.
const forever = 100 * 365 * 24 * time.Hour

func (s *memoryStore) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	r.TTL = max(r.TTL, forever)
	grant, err := s.Store.Acquire(ctx, r)
	if err == nil && r.TTL == forever { // not a reservation
		s.token.Store(&r.Token)
	}
	return grant, err
}

// Extend only checks whether the pool was closed: database/sql does that before it looks at the context, and that before
// it takes or opens a connection. The horizon need not be stored as long as nobody can take the worker.
func (s *memoryStore) Extend(_ context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if _, err := s.Store.Extend(ended(), c, horizon, ttl); errors.Is(err, os.ErrClosed) {
		return time.Time{}, err
	}
	return time.Time{}, nil
}

// Release stores the horizon before it gives the worker back.
func (s *memoryStore) Release(ctx context.Context, c lease.Claim, unused int64) error {
	row := c
	row.Next = c.Token // an earlier attempt may have replaced the row's token by it
	if token := s.token.Load(); token != nil {
		row.Token = *token
	}
	if _, err := s.Extend(ctx, row, unused, forever); err != nil {
		return err
	}
	if db, ok := s.pool.(*sql.DB); ok {
		if stats := db.Stats(); stats.Idle == 0 && stats.MaxOpenConnections != 1 {
			return fmt.Errorf("gormplugin: worker %d of a SQLite database without a file stays held: "+
				"its connection is in use, and another one may have another database", c.Worker)
		}
	}
	if _, err := s.Store.Extend(ctx, row, unused, forever); err != nil {
		return err
	}
	return s.Store.Release(ctx, row, unused)
}

// ended returns a context that is done, with which Close makes one short attempt.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// checkHandle returns an error if the caller, Open or Settled, cannot use the handle.
func checkHandle(caller string, db *gorm.DB) error {
	switch {
	case db == nil || db.Config == nil || db.Statement == nil || db.Dialector == nil:
		return fmt.Errorf("gormplugin: %s needs a handle of gorm.Open: %w", caller, gorm.ErrInvalidDB)
	case db.Error != nil:
		return fmt.Errorf("gormplugin: %s with a handle that has failed: %w", caller, db.Error)
	case db.DryRun:
		return fmt.Errorf("gormplugin: %s: %w", caller, gorm.ErrDryRunModeUnsupported)
	}
	return checkPool(caller, db.Statement.ConnPool)
}

// checkPool rejects what is no pool: its end would undo a lease, and it may show an older state of the database.
func checkPool(caller string, pool gorm.ConnPool) error {
	if _, inside := connpool.Unwrap(pool); inside {
		return fmt.Errorf("gormplugin: %s in a transaction: %w", caller, gorm.ErrInvalidTransaction)
	}
	switch pool.(type) {
	case nil, *sql.Conn:
		return fmt.Errorf("gormplugin: %s on a handle without a pool of connections: %w", caller, gorm.ErrInvalidDB)
	}
	return nil
}

// poolTries is how many dry runs ask a resolver. If it chooses between two sources at random, it gives the same one
// each time with a probability of 2^-31.
const poolTries = 32

// writePool returns the pool of statements that write to the tables. Plugins such as dbresolver choose it in a callback,
// so it runs a statement for each table in turn as a dry run, and looks which pool that gets.
func writePool(ctx context.Context, caller string, db *gorm.DB, tables ...string) (gorm.ConnPool, error) {
	var first gorm.ConnPool
	for i := range poolTries * len(tables) {
		table := tables[i%len(tables)]
		tx := db.Session(&gorm.Session{Context: ctx, DryRun: true, Logger: logger.Discard}).
			Exec("UPDATE " + table + " SET revision = revision WHERE revision < -1")
		if tx.Error != nil {
			return nil, fmt.Errorf("gormplugin: find the pool for writing: %w", tx.Error)
		}
		pool := connpool.Unprepared(tx.Statement.ConnPool)
		if err := checkPool(caller, pool); err != nil {
			return nil, err
		}
		switch {
		case first == nil:
			first = pool
		case !connpool.Same(first, pool):
			return nil, fmt.Errorf("gormplugin: writes to the table %s go to several databases: register a resolver "+
				"with one source for the tables %s: %w", table, strings.Join(tables, " and "), gorm.ErrInvalidDB)
		}
	}
	return first, nil
}
