// Package gormsettled finds the bound of package settled for a GORM model.
package gormsettled

import (
	"context"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/contrib/settled"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Read returns the bound below which no more rows of the model appear, for readers that poll its table by the primary
// key without missing the rows of transactions that commit late:
//
//	bound, err := gormsettled.Read(ctx, db, &Event{})
//	...
//	db.Where("id < ?", bound.Below).Clauses(gormplugin.Page{After: last, Limit: 100}).Find(&events)
//
// It is [settled.Read] on the database that writes of the model go to, with the layout of the generator that fills the
// key; package settled has the rule and the rights that it needs. Call it outside of transactions, and read the rows
// after it from the same database: a replica may lag behind.
//
// With a plugin of [gormplugin.Open], its leases show clocks that are behind ([settled.WithLeases]), unless they are in
// another pool than the model, or in SQLite. Processes may hold leases of the table with any window from
// [lease.DefaultWindow] up ([lease.WithWindow]). Longer ones lower the bound by up to a third of the window: with Open
// up to 20 s, and up to 200 s if another process has a pool of one connection. If that is too much and all windows are
// known, call settled.Read.
//
// It returns the errors of [gormplugin.TableOf] and of settled.Read, and settled.ErrOption for a dialect other than
// postgres, mysql and sqlite.
func Read(ctx context.Context, db *gorm.DB, model any, opts ...settled.Option) (settled.Bound, error) {
	table, err := gormplugin.TableOf(ctx, db, model)
	if err != nil {
		return settled.Bound{}, err
	}

	dialect := sqldb.Dialect(db.Name())
	opts = append(leaseOptions(table, dialect), opts...)
	return settled.Read(ctx, table.DB, dialect, table.Layout, opts...)
}

// leaseOptions returns the leases of Open, if the database that is read has set their times. All processes of a SQLite
// database are on one host and have its clock.
func leaseOptions(table gormplugin.Table, dialect sqldb.Dialect) []settled.Option {
	if table.Lease == nil || dialect == sqldb.SQLite {
		return nil
	}

	// Others may have the window of lease.Open, or of another pool. One that is too long hides lags.
	status := table.Lease.Status()
	window := min(status.Window, lease.DefaultWindow)
	return []settled.Option{settled.WithLeases(table.Leases, status.Namespace, window)}
}
