package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// ServerWindow is the window of the leases that [Open] takes in a server's database; [lease.WithWindow] in [WithLease]
// sets another. Creates survive an outage of the database of half a window at least. On SQLite, and with a pool of one
// connection, the window is [lease.MaxWindow].
const ServerWindow = time.Minute

// Open makes a plugin that needs no worker number, and registers it with db: it leases a worker in db's own database and
// fills keys with IDs of that worker. Any number of processes may do so, on any number of hosts: no two of them have one
// worker at a time, and no ID comes twice. See [lease] for how.
//
//	keys, err := gormplugin.Open(ctx, db)
//	...
//	defer keys.Close(context.Background())
//
// It creates the table snowflake_leases if that is not there ([WithLeaseTable] names another, [sqllease.Store.Schema] has the
// statement for migrations of your own), takes a worker, and from then on extends the lease in the background, with one
// UPDATE each half [ServerWindow]. The user of the connection needs the right to SELECT, INSERT and UPDATE the table, and to
// create it only if it is not there. The rows of the table must never be deleted: in them is what keeps the next owner of a
// worker away from the IDs of the last.
//
// A process that is killed leaves its worker held for two windows, and the next one takes another. The default layout has
// 1,024 of them; Open waits for a free one until ctx ends, which bounds everything that Open does, but not the lease.
//
// # Databases
//
// Open knows the dialects postgres, mysql and sqlite. The lease is in the database that a write on its table would go to,
// through the same pool of connections but past GORM: no statement of it is in GORM's log, nor in a transaction. With
// gorm.io/plugin/dbresolver these are the sources, not the replicas, if the resolver was registered before: call Open after
// it. Registered later, it leaves the lease in the handle's own pool. If the resolver has several sources for the table Open
// returns an error; give it a resolver of its own with one source (dbresolver.Register(config, "snowflake_leases")).
//
// On SQLite, and with one connection, a transaction that writes keeps the extension out until it ends. The window is
// therefore [lease.MaxWindow] there, so that a transaction may last five minutes at least and create rows all the time;
// call SetMaxOpenConns(1) before Open, which looks once.
// One that goes on beyond gets snowflake.ErrLeaseStalled from Create, which gives up after [lease.WithPatience] even if its
// context has no end, since it waits for itself; after a rollback all is well again. An extension is a write as any other's:
// a deferred transaction that reads before it writes may fail with SQLITE_BUSY because of it.
//
// Several databases, or schemas, of one program have a lease table each, and may so have equal IDs. If those are to differ
// as well, open the plugin on one handle and give it to the others with db.Use.
//
// In a SQLite database that has no file, such as ":memory:", each further connection would open another, empty database.
// There the lease does not extend in the background, and its worker is held until Close.
//
// # Logging
//
// The lease tells what happens to it through db's logger: lost workers and failed extensions as warnings, workers that are
// taken and released at level Info. [lease.WithLogger] sets another place.
//
// # Errors
//
// gorm.ErrInvalidDB for a handle that is nil or has no pool, and inside db.Connection; the handle's error if it has one;
// gorm.ErrInvalidTransaction inside a transaction; gorm.ErrRegistered if the handle has a [Plugin] already;
// gorm.ErrUnsupportedDriver for another dialect, where [lease.Open] with a store of your own, or snowflake.New, and [New]
// do the same; [ErrOption] for options; the errors of [sqllease.Store.Migrate] and of [lease.Open]. After an error no worker is
// held and no plugin is registered.
func Open(ctx context.Context, db *gorm.DB, opts ...Option) (*Plugin, error) {
	p := New(nil, opts...)
	if err := errors.Join(p.errs...); err != nil {
		return nil, err
	}
	if err := checkHandle(db); err != nil {
		return nil, err
	}
	store, window, err := openStore(ctx, db, p.leaseTable)
	if err != nil {
		return nil, err
	}
	options := append([]lease.Option{
		lease.WithWindow(window),
		lease.WithLogger(slog.New(newLeaseLog(db.Logger))),
	}, p.leaseOptions...)
	if p.lease, err = lease.Open(ctx, store, options...); err != nil {
		return nil, fmt.Errorf("gormplugin: open a lease: %w", err)
	}
	p.gen = &leasedGenerator{Generator: p.lease.Generator(), patience: p.lease.Patience(), store: store}
	if err := db.Use(p); err != nil {
		return nil, errors.Join(fmt.Errorf("gormplugin: register: %w", err), p.Close(ended()))
	}
	return p, nil
}

// ended returns a context that is done, which makes Close take releaseTimeout at the most.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// releaseTimeout is how long Close with a context that has ended tries to give the worker back.
const releaseTimeout = time.Second

// Close gives back the worker that [Open] has leased. Creates fail with an error that wraps [lease.ErrClosed] from then on,
// also on other handles that the plugin was given to. The next process can have the worker at once.
//
// Call it before the database is closed, and outside of transactions. ctx bounds the wait for the database; one that has
// ended already, such as that of a signal, leaves it a second, and a driver that looks at contexts late, as mattn/go-sqlite3
// does in its busy timeout, takes longer. If the worker could not be given back Close returns an error; once the database
// was asked, further calls return the same. The worker is then free after two windows, as after a kill. If the *sql.DB was
// closed before, the lease ends by itself at its next extension.
//
// Close does nothing to what [New] made, and to a nil *Plugin.
func (p *Plugin) Close(ctx context.Context) error {
	if p == nil || p.lease == nil {
		return nil
	}
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
	}
	return p.lease.Close(ctx)
}

// Lease returns the lease of [Open], to look at: its Status, and its generator for IDs that are not for GORM. It is nil for
// what [New] made. Close the plugin, not the lease.
func (p *Plugin) Lease() *lease.Lease { return p.lease }

// WithLease sets options of the lease that [Open] takes: its namespace, the layout of the IDs, the window, and so on.
//
//	gormplugin.WithLease(lease.WithGenerator(snowflake.WithLayout(snowflake.Wide())))
//
// It may be given several times; of two that set the same the last one counts. It is for Open only.
func WithLease(opts ...lease.Option) Option {
	return optionFunc(func(p *Plugin) { p.leaseOptions = append(p.leaseOptions, opts...) })
}

// WithLeaseTable sets the name of the table that [Open] keeps its lease in, table or schema.table, instead of
// snowflake_leases. All processes whose IDs must differ have to use the same table. It is for Open only.
func WithLeaseTable(name string) Option {
	return optionFunc(func(p *Plugin) {
		if name == "" {
			p.refuse("WithLeaseTable: empty name")
			return
		}
		p.leaseTable = name
	})
}
