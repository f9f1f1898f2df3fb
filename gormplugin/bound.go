package gormplugin

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin/internal/connpool"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/settled"
)

// Settled returns the bound below which no more rows of the model appear, for readers that poll its table by the
// primary key without missing those of transactions that commit late:
//
//	bound, err := gormplugin.Settled(ctx, db, &Event{})
//	...
//	db.Where("id < ?", bound.Below).Clauses(gormplugin.Page{After: last, Limit: 100}).Find(&events)
//
// It is [settled.Read] on the database that writes of the model go to, with the layout of the generator that fills the
// key; package settled has the rule and the rights that it needs. Call it outside of transactions, and read the rows
// after it from the same database: a replica may lag behind.
//
// With a plugin of [Open], its leases show clocks that are behind (settled.WithLeases), unless they are in another pool
// than the model, or in SQLite. Processes may hold leases of the table with any window from [lease.DefaultWindow] up
// ([lease.WithWindow]). Longer ones lower the bound by up to a third of the window: with Open up to 20 s, and up to 200
// s beside a process whose pool has one connection. If that is too much and all windows are known, call settled.Read.
//
// Errors: gorm.ErrInvalidTransaction inside a transaction; gorm.ErrInvalidDB for a handle without a *sql.DB, or whose
// writes of the model go to several; gorm.ErrDryRunModeUnsupported for a dry run; the handle's own error;
// gorm.ErrPrimaryKeyRequired without a key, schema.ErrUnsupportedDataType for one of text or bytes; [ErrCondition] if
// the layout is not known; and those of settled.Read, of which ErrOption is also for other dialects than postgres,
// mysql and sqlite.
func Settled(ctx context.Context, db *gorm.DB, model any, opts ...settled.Option) (settled.Bound, error) {
	if err := checkHandle("Settled", db); err != nil {
		return settled.Bound{}, err
	}
	stmt := &gorm.Statement{DB: db, Context: ctx, Clauses: map[string]clause.Clause{}}
	if err := stmt.Parse(model); err != nil {
		return settled.Bound{}, fmt.Errorf("gormplugin: Settled of %T: %w", model, err)
	}

	t, err := targetOf(stmt, "")
	if err != nil {
		return settled.Bound{}, err
	}
	layout, err := t.layout()
	if err != nil {
		return settled.Bound{}, err
	}

	pool, err := writePool(ctx, "Settled", db, stmt.Table)
	if err != nil {
		return settled.Bound{}, err
	}
	server := connpool.SQLDB(pool)
	if server == nil {
		return settled.Bound{}, fmt.Errorf("gormplugin: Settled needs a *sql.DB, not a %T: %w", pool, gorm.ErrInvalidDB)
	}

	dialect := sqldb.Dialect(db.Name())
	return settled.Read(ctx, server, dialect, layout, append(of(db).settledOptions(dialect, pool), opts...)...)
}

// settledOptions returns the leases of Open, if their times are those of the database that is read. All processes of a
// SQLite database are on one host and have its clock.
func (p *Plugin) settledOptions(dialect sqldb.Dialect, pool gorm.ConnPool) []settled.Option {
	if p.lease == nil || dialect == sqldb.SQLite || !connpool.Same(p.place.pool, pool) {
		return nil
	}

	// Others may have the window of lease.Open, or that of another pool. One that is too long hides lags.
	status := p.lease.Status()
	window := min(status.Window, lease.DefaultWindow)
	return []settled.Option{settled.WithLeases(p.place.store, status.Namespace, window)}
}
