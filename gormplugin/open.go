package gormplugin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
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

// Open leases a worker number in db's own database, and registers a plugin with db that fills keys with IDs of this
// worker. No two processes have the same worker at a time, whatever their hosts. As many can run at a time as the
// layout has workers. Package [lease] has the rule that keeps their IDs apart, and its limits.
//
// It creates the tables snowflake_namespaces and snowflake_leases if they are missing ([WithLeaseTables] names others;
// sqllease.Schema has the statements for your own migrations). It takes a worker, and then extends the lease by one
// UPDATE each half minute (SQLite: 5 min). All processes must use the same tables: see sqllease.Store.Migrate. The role
// needs SELECT, INSERT and UPDATE on them, and the right to create them only if they are missing. Never delete their
// rows: they keep the next owner of a worker away from the IDs of the last.
//
// A process that is killed leaves its worker held for two minutes (SQLite: 20). The next process takes another one: the
// default layout has 1,024. Open waits for a free one until ctx ends, which does not end the lease. If the database
// does not answer, Open fails after 10 s.
//
// # Databases
//
// Open knows the dialects postgres, mysql and sqlite. The lease is in the database that a write to its table goes to,
// through the same connection pool but not through GORM: neither in GORM's log nor in a transaction. With
// gorm.io/plugin/dbresolver these are the sources: call Open after the resolver is registered, else the lease stays in
// the handle's own pool. If the resolver has several sources for the table, Open returns an error; give the table a
// resolver with one source (dbresolver.Register(config, "snowflake_namespaces", "snowflake_leases")).
//
// On SQLite, and with one connection, a transaction that writes keeps the extension out until it ends. The window is
// therefore [lease.MaxWindow] there: a transaction may last at least five minutes and create rows all the time (on a
// server an hour after the first such process of the namespace, see [lease.WithWindow]); call SetMaxOpenConns(1) before
// Open. In a longer transaction, Create returns snowflake.ErrLeaseStalled after [lease.WithPatience], unless its
// context has a deadline; after a rollback Create works again. An extension is a write like any other: a deferred
// transaction that reads before it writes may fail with SQLITE_BUSY because of it. In a SQLite database without a file,
// such as ":memory:", the lease does not extend in the background, and its worker is held until Close.
//
// After a failover to a replica, a process that starts, or that the replica has forgotten, has to wait for about 70 s,
// or for 10 minutes and 10 s if a process of the namespace has ever had one connection. Create then returns
// snowflake.ErrLeaseStalled after [lease.WithPatience] at first, and later waits up to a window, in a transaction with
// the connection held, unless its context has a deadline: give it one. Package sqllease has the conditions.
//
// Several databases, or schemas ([WithLeaseTables]), have lease tables each, so their IDs may be equal. If those must
// differ too, open the plugin on one handle and give it to the others with db.Use.
//
// # Logging and errors
//
// The lease logs through db's logger: lost workers, those taken after a loss, and failed extensions as warnings, which
// GORM shows by default; the first worker and its release at level Info. At GORM's default level slog's default logger
// has the first worker. [lease.WithLogger] sets another logger.
//
// Errors are gorm.ErrInvalidDB for a handle that is nil or has no pool, and inside db.Connection; the handle's own
// error; gorm.ErrDryRunModeUnsupported for a dry run; gorm.ErrInvalidTransaction inside a transaction;
// gorm.ErrRegistered if the handle has a [Plugin]; gorm.ErrUnsupportedDriver for another dialect, where [New] takes the
// generator of a [lease.Open] with another store, or of snowflake.New; [ErrOption] for options; the errors of
// sqllease.Store.Migrate and of [lease.Open]; [lease.ErrOption], at once, for a role that may not write to the table.
// After an error no worker is held and no plugin is registered.
func Open(ctx context.Context, db *gorm.DB, opts ...Option) (*Plugin, error) {
	c, err := newConfig(nil, opts)
	if err == nil {
		err = checkHandle("Open", db)
	}
	if err == nil && db.Plugins[pluginName] != nil {
		err = errRegistered()
	}
	if err != nil {
		return nil, err
	}

	prepare, cancel := context.WithTimeout(ctx, c.openTimeout) // as lease.Open bounds each of its calls
	place, err := openPlace(prepare, db, c.leaseTables)
	cancel()
	hasTimedOut := errors.Is(prepare.Err(), context.DeadlineExceeded) && ctx.Err() == nil
	switch {
	case err != nil && hasTimedOut:
		return nil, fmt.Errorf("gormplugin: %w: the database has not answered for %v: %w",
			prepare.Err(), c.openTimeout, err)
	case err != nil:
		return nil, err
	}

	log := slog.New(&leaseLog{to: db.Logger})
	options := append([]lease.Option{lease.WithWindow(place.window), lease.WithLogger(log)}, c.leaseOptions...)
	p := &Plugin{config: c, place: place}
	if p.lease, err = lease.Open(ctx, place.store, options...); err != nil {
		if errors.Is(err, lease.ErrLayout) {
			err = fmt.Errorf("%w; to use another namespace, pass lease.WithNamespace to gormplugin.WithLease", err)
		}
		return nil, fmt.Errorf("gormplugin: open a lease: %w", err)
	}

	c.rules.Default = p.lease.Generator()
	if c.ready == nil {
		c.ready = p.lease.Ready
	}
	if err := db.Use(p); err != nil {
		return nil, errors.Join(fmt.Errorf("gormplugin: register: %w", err), p.Close(ended()))
	}
	return p, nil
}

// Close gives back the worker that [Open] has leased, and the next process can have it at once. From then on creates
// fail with [lease.ErrClosed], also on other handles that the plugin was given to.
//
// Call it before the database is closed, and outside of transactions. ctx bounds the wait for the database. A context
// that has already ended, as after a signal, leaves it a second. If the worker could not be given back Close returns an
// error; the worker is then free after two windows, as after a kill. If the *sql.DB was closed before, the lease ends
// at its next extension. Close does nothing to a Plugin of [New], and to a nil *Plugin.
func (p *Plugin) Close(ctx context.Context) error {
	if p == nil || p.lease == nil {
		return nil
	}
	return p.lease.Close(ctx)
}

// Lease returns the lease of [Open]: its Status, its Ready and Healthy for probes, its Reserve for keys of old rows,
// and its generator for IDs that are not for GORM. It is nil for a Plugin of [New]. Close the plugin, not the lease.
func (p *Plugin) Lease() *lease.Lease { return p.lease }

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

// checkOpen returns an error if the pool was closed. It needs no connection: database/sql checks that before it checks
// the context, and the context before it takes or opens a connection.
func (s *memoryStore) checkOpen(c leasestore.Claim, horizon int64, ttl time.Duration) error {
	if _, err := s.Store.Extend(ended(), c, horizon, ttl); errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Extend only checks whether the pool was closed. The horizon need not be stored as long as no process can take the
// worker.
func (s *memoryStore) Extend(
	_ context.Context, c leasestore.Claim, horizon int64, ttl time.Duration,
) (time.Time, error) {
	return time.Time{}, s.checkOpen(c, horizon, ttl)
}

// Release stores the horizon before it gives the worker back.
func (s *memoryStore) Release(ctx context.Context, c leasestore.Claim, unused int64) error {
	row := c
	row.Next = c.Token // an earlier attempt may have stored it in the row already
	if token := s.token.Load(); token != nil {
		row.Token = *token
	}

	if err := s.checkOpen(row, unused, forever); err != nil {
		return err
	}
	if s.needsConnection() {
		return fmt.Errorf("gormplugin: worker %d of a SQLite database without a file stays held: its connection is in "+
			"use, and another one may have another database; end transactions and close rows before Close", c.Worker)
	}

	if _, err := s.Store.Extend(ctx, row, unused, forever); err != nil {
		return err
	}
	return s.Store.Release(ctx, row, unused)
}

// needsConnection reports whether a statement would open a connection, and with it perhaps another database.
func (s *memoryStore) needsConnection() bool {
	db, ok := s.pool.(*sql.DB)
	if !ok {
		return false
	}
	stats := db.Stats()
	return stats.Idle == 0 && stats.MaxOpenConnections != 1
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
			return nil, fmt.Errorf("gormplugin: %s: find the pool that writes the table %s: %w",
				caller, table, tx.Error)
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

// leaseLog is a slog.Handler that passes the records of a lease to GORM's logger, which filters by its own level. It
// drops records below Info, for which GORM has no level.
//
// GORM's default level hides Info. Then the first worker goes to slog's default logger, as with sqllease.Open, and not
// to standard output, where GORM writes: that may be the data of a program. The worker after a lost one is a warning:
// else the log would show the loss and never its end.
type leaseLog struct {
	to   logger.Interface
	lost atomic.Bool // a worker, and none was acquired since
}

func (h *leaseLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle passes the record on as one line, with the attributes as text after the message.
func (h *leaseLog) Handle(ctx context.Context, record slog.Record) error {
	var text strings.Builder
	withoutBuiltIn := func(_ []string, a slog.Attr) slog.Attr { // what GORM's logger writes itself
		switch a.Key {
		case slog.TimeKey, slog.LevelKey, slog.MessageKey:
			return slog.Attr{}
		}
		return a
	}
	handler := slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: withoutBuiltIn})
	if err := handler.Handle(ctx, record); err != nil {
		return err
	}

	log := h.to.Info
	if record.Level >= slog.LevelWarn {
		log = h.to.Warn
	}
	switch record.Message {
	case "snowflake lease " + string(lease.Lost):
		h.lost.Store(true)
	case "snowflake lease " + string(lease.Acquired):
		switch isAfterLoss := h.lost.Swap(false); {
		case isAfterLoss:
			log = h.to.Warn
		case hidesInfo(h.to): // the first worker
			if others := slog.Default().Handler(); others.Enabled(ctx, record.Level) {
				return others.Handle(ctx, record)
			}
		}
	}

	log(ctx, "%s", strings.TrimSpace(record.Message+" "+text.String()))
	return nil
}

// hidesInfo reports whether a logger has GORM's default level, Warn. It reads the level from a field of GORM's own
// logger; of other loggers it is not known.
func hidesInfo(to logger.Interface) bool {
	v := reflect.Indirect(reflect.ValueOf(to))
	if v.Kind() != reflect.Struct {
		return false
	}
	level := v.FieldByName("LogLevel")
	return level.IsValid() && level.CanInt() && level.Int() == int64(logger.Warn)
}

// WithAttrs and WithGroup are not called: a lease adds nothing to its logger.
func (h *leaseLog) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *leaseLog) WithGroup(string) slog.Handler      { return h }
