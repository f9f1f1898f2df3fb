package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Open makes a plugin that needs no worker number, and registers it with db: it leases a worker in db's own database
// and fills keys with IDs of that worker. As many processes as the layout has workers may do so at a time, on any
// hosts. No two of them have the same worker at a time. Package [lease] has the rule that keeps their IDs apart, and
// its limits.
//
// It creates the tables snowflake_namespaces and snowflake_leases if they are missing ([WithLeaseTables] names others;
// sqllease.Schema has the statement for your own migrations), takes a worker, and then extends the lease in the
// background with one UPDATE each half minute. All processes must use one table: see sqllease.Store.Migrate. The role
// needs the right to SELECT, INSERT and UPDATE the table, and to create it only if it does not exist. Never delete rows
// of the table: they keep the next owner of a worker away from the IDs of the last.
//
// A process that is killed leaves its worker held for two windows of a minute, and the next process takes another of
// the layout, which has 1,024 by default. Open waits for a free one until ctx ends, which does not end the lease. If
// the database does not answer, Open fails after 10 s.
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
			err = fmt.Errorf("%w; lease.WithNamespace in gormplugin.WithLease names another one", err)
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
