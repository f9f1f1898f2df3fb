package sqllease

import (
	"context"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Open takes a worker in the database: it calls [New], [Store.Migrate] and [lease.Open] with the options. Call these
// three yourself for tables with other names ([WithTables]).
//
// It creates the tables snowflake_namespaces and snowflake_leases if the database says that they are missing. All
// processes must reach the same ones: see Migrate. The role must be allowed to SELECT, INSERT and UPDATE the tables,
// and to create them only if they do not exist: [Schema] returns the statements for a role that may. Nothing else is
// needed, and db stays the caller's: close it after the lease.
//
// ctx bounds the waits of Open, not the life of the lease. If the database does not answer, Open fails after
// [lease.DefaultWindow]. It returns the errors of New, Migrate and lease.Open.
func Open(ctx context.Context, db sqldb.DB, d sqldb.Dialect, opts ...lease.Option) (*lease.Lease, error) {
	store, err := New(db, d)
	if err != nil {
		return nil, err
	}
	prepare, cancel := context.WithTimeout(ctx, lease.DefaultWindow) // as lease.Open bounds its calls
	err = store.Migrate(prepare)
	cancel()
	if err != nil {
		return nil, err
	}
	return lease.Open(ctx, store, opts...)
}
