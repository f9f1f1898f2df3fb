package gormplugin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/internal/connpool"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// leasePlace is where a lease of Open is kept.
type leasePlace struct {
	store  leasestore.Store
	pool   gorm.ConnPool // of the store
	window time.Duration // that suits the database
}

// openPlace returns the place for the leases of a handle, whose tables it creates if needed.
func openPlace(ctx context.Context, db *gorm.DB, prefix string) (leasePlace, error) {
	dialect := sqldb.Dialect(db.Name()) // GORM and sqllease have the same names for them
	if known := []sqldb.Dialect{sqldb.Postgres, sqldb.MySQL, sqldb.SQLite}; !slices.Contains(known, dialect) {
		return leasePlace{}, fmt.Errorf("gormplugin: Open has no leases for the dialect %q, only for postgres, mysql "+
			"and sqlite; give New a generator of lease.Open with another store, or of snowflake.New: %w",
			dialect, gorm.ErrUnsupportedDriver)
	}
	if prefix == "" {
		prefix = "snowflake_"
	}

	pool, err := writePool(ctx, "Open", db, prefix+"namespaces", prefix+"leases")
	if err != nil {
		return leasePlace{}, err
	}
	store, err := sqllease.New(pool, dialect, sqllease.WithTables(prefix))
	if err != nil {
		return leasePlace{}, fmt.Errorf("gormplugin: %w", err)
	}
	if err := store.Migrate(ctx); err != nil {
		return leasePlace{}, fmt.Errorf("gormplugin: %w", err)
	}

	// Creates survive half of the window without the database.
	place := leasePlace{store: store, pool: pool, window: time.Minute}
	server := connpool.SQLDB(pool)
	hasOneConnection := server != nil && server.Stats().MaxOpenConnections == 1
	if dialect == sqldb.SQLite || hasOneConnection {
		place.window = lease.MaxWindow
	}
	if dialect != sqldb.SQLite {
		return place, nil
	}

	var file string
	row := pool.QueryRowContext(ctx, "SELECT coalesce(file, '') FROM pragma_database_list WHERE name = 'main'")
	if err := row.Scan(&file); err != nil {
		return leasePlace{}, fmt.Errorf("gormplugin: find the file of the SQLite database: %w", err)
	}
	if file == "" {
		place.store = &memoryStore{Store: store, pool: pool}
	}
	return place, nil
}

// memoryStore is for SQLite databases without a file. A statement that finds the pool's connection in use would open
// another connection, and with it another database, so only Acquire and Release use the database. In between the worker
// is held without an end, since no other process can take it. It is not lease.NewMemory: several pools of this process
// may share such a database (cache=shared), and only its table keeps their workers apart.
type memoryStore struct {
	leasestore.Store
	pool  gorm.ConnPool
	token atomic.Pointer[string] // that the row has, since no extension reaches it
}

// forever is how long a worker is held in a database that ends with its process: a century.
const forever = 100 * 365 * 24 * time.Hour

func (s *memoryStore) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	r.TTL = max(r.TTL, forever)
	grant, err := s.Store.Acquire(ctx, r)
	if err == nil && r.TTL == forever { // not a reservation
		s.token.Store(&r.Token)
	}
	return grant, err
}

// Extend only checks whether the pool was closed: database/sql does that before it checks the context, and checks the
// context before it takes or opens a connection. The horizon need not be stored as long as no process can take the
// worker.
func (s *memoryStore) Extend(
	_ context.Context, c leasestore.Claim, horizon int64, ttl time.Duration,
) (time.Time, error) {
	if _, err := s.Store.Extend(ended(), c, horizon, ttl); errors.Is(err, os.ErrClosed) {
		return time.Time{}, err
	}
	return time.Time{}, nil
}

// Release stores the horizon before it gives the worker back.
func (s *memoryStore) Release(ctx context.Context, c leasestore.Claim, unused int64) error {
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

// checkHandle returns an error if the caller, Open or TableOf, cannot use the handle.
func checkHandle(caller string, db *gorm.DB) error {
	isZero := db == nil || db.Config == nil
	switch {
	case isZero || db.Statement == nil, db.Dialector == nil:
		return fmt.Errorf("gormplugin: %s needs a handle of gorm.Open: %w", caller, gorm.ErrInvalidDB)
	case db.Error != nil:
		return fmt.Errorf("gormplugin: %s with a handle that has failed: %w", caller, db.Error)
	case db.DryRun:
		return fmt.Errorf("gormplugin: %s: %w", caller, gorm.ErrDryRunModeUnsupported)
	}
	return checkPool(caller, db.Statement.ConnPool)
}

// checkPool rejects a transaction, whose end would undo a lease, and which may show an older state of the database, and
// a single connection.
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

// writePool returns the pool of statements that write to the tables. Plugins such as dbresolver choose the pool in a
// callback, so writePool runs a statement for each table in turn as a dry run, and reads which pool it gets.
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
