package gormplugin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

const defaultLeaseTable = "snowflake_leases"

// openStore returns the store for the leases of a handle, whose table is there, and the window that suits the database.
func openStore(ctx context.Context, db *gorm.DB, table string) (*leaseStore, time.Duration, error) {
	dialect, err := leaseDialect(db)
	if err != nil {
		return nil, 0, err
	}
	if table == "" {
		table = defaultLeaseTable
	}
	pool, err := writePool(ctx, db, table)
	if err != nil {
		return nil, 0, err
	}
	store, err := sqllease.New(pool, dialect, sqllease.WithTable(table))
	if err != nil {
		return nil, 0, fmt.Errorf("gormplugin: %w", err)
	}
	if err := store.Migrate(ctx); err != nil {
		return nil, 0, fmt.Errorf("gormplugin: %w", err)
	}
	window := ServerWindow
	if dialect == sqllease.SQLite || hasOneConnection(pool) {
		window = lease.MaxWindow
	}
	if dialect == sqllease.SQLite {
		if file, err := hasFile(ctx, pool); err != nil {
			return nil, 0, err
		} else if !file {
			return &leaseStore{Store: memoryStore{store, pool}}, window, nil
		}
	}
	return &leaseStore{Store: store}, window, nil
}

func leaseDialect(db *gorm.DB) (sqllease.Dialect, error) {
	switch name := db.Name(); name {
	case "postgres":
		return sqllease.Postgres, nil
	case "mysql":
		return sqllease.MySQL, nil
	case "sqlite":
		return sqllease.SQLite, nil
	default:
		return 0, fmt.Errorf("gormplugin: Open has no leases for the dialect %q, only for postgres, mysql and sqlite; "+
			"give New a generator of lease.Open with another store, or of snowflake.New: %w", name, gorm.ErrUnsupportedDriver)
	}
}

// hasFile reports whether the main database of a SQLite connection is a file. One that is not belongs to a single
// connection, or to those of this process that share its cache.
func hasFile(ctx context.Context, pool gorm.ConnPool) (has bool, err error) {
	rows, err := pool.QueryContext(ctx, "PRAGMA database_list")
	if err != nil {
		return false, fmt.Errorf("gormplugin: where is the SQLite database: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var number int
		var name string
		var file sql.NullString
		if err := rows.Scan(&number, &name, &file); err != nil {
			return false, fmt.Errorf("gormplugin: where is the SQLite database: %w", err)
		}
		has = has || name == "main" && file.String != ""
	}
	if err := rows.Err(); err != nil {
		return false, fmt.Errorf("gormplugin: where is the SQLite database: %w", err)
	}
	return has, nil
}

// leaseStore keeps what the last extension said, for creates that wait for one.
type leaseStore struct {
	lease.Store
	failure atomic.Pointer[error]     // nil after a success
	until   atomic.Pointer[time.Time] // about when the horizon passes
}

// isFresh reports whether the horizon lies ahead, as far as can be told at once: by the wall clock, since the other stands
// still while a laptop sleeps, and by the other, since the wall clock may have been set back.
func (s *leaseStore) isFresh() bool {
	until, now := s.until.Load(), time.Now()
	return until != nil && now.Before(*until) && now.Round(0).Before(*until)
}

func (s *leaseStore) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	s.note(err)
	return grant, err
}

func (s *leaseStore) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	begin := time.Now()
	now, err := s.Store.Extend(ctx, c, horizon, ttl)
	s.note(err)
	if err == nil {
		until := begin.Add(ttl / 2) // the expiry is two windows ahead, the horizon one
		s.until.Store(&until)
	}
	return now, err
}

func (s *leaseStore) note(err error) {
	if err == nil {
		s.failure.Store(nil)
		return
	}
	s.failure.Store(&err)
}

// memoryStore is for SQLite databases without a file. A statement that finds the pool's connection in use would open
// another one, and with it another database, so only Acquire and Release talk to the database. In between the worker is
// held without an end: others who could take it are in this process, or are none.
type memoryStore struct {
	lease.Store
	pool gorm.ConnPool
}

// forever is how long a worker is held in a database that ends with its process: a century, which every dialect can add.
const forever = 100 * 365 * 24 * time.Hour

func (s memoryStore) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	r.TTL = forever
	return s.Store.Acquire(ctx, r)
}

// Extend only looks whether the pool was closed. The horizon need not be stored as long as nobody can take the worker.
func (s memoryStore) Extend(_ context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	return time.Time{}, s.closed(c, horizon, ttl)
}

// Release stores how far the IDs went before it gives the worker back.
func (s memoryStore) Release(ctx context.Context, c lease.Claim, unused int64) error {
	if err := s.closed(c, unused, forever); err != nil {
		return err
	}
	if db, ok := s.pool.(*sql.DB); ok {
		if stats := db.Stats(); stats.Idle == 0 && stats.MaxOpenConnections != 1 {
			return fmt.Errorf("gormplugin: worker %d of a SQLite database without a file stays held: "+
				"its connection is in use, and another one may have another database", c.Worker)
		}
	}
	if _, err := s.Store.Extend(ctx, c, unused, forever); err != nil {
		return err
	}
	return s.Store.Release(ctx, c, unused)
}

// closed returns an error if the pool was closed. database/sql looks at that first, and at the context before it takes or
// opens a connection.
func (s memoryStore) closed(c lease.Claim, horizon int64, ttl time.Duration) error {
	if _, err := s.Store.Extend(ended(), c, horizon, ttl); errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
