package gormplugin

import (
	"context"
	"database/sql"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/internal/connpool"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// Table says where GORM writes the rows of a model, for code that works on them with package database/sql.
type Table struct {
	DB     *sql.DB          // the pool that writes of the model go to, one of the sources of gorm.io/plugin/dbresolver
	Layout snowflake.Layout // of the generator that fills the primary key

	// Lease is the lease of [Open] and Leases its store, if the lease tables are in DB. Both are nil if they are in
	// another pool, and with a plugin of [New].
	Lease  *lease.Lease
	Leases leasestore.Store
}

// TableOf returns the table of a model, a pointer to a struct. It sends nothing to the database.
//
// Errors: gorm.ErrInvalidTransaction inside a transaction; gorm.ErrInvalidDB for a handle without a *sql.DB, or whose
// writes of the model go to several; gorm.ErrDryRunModeUnsupported for a dry run; the handle's own error;
// gorm.ErrPrimaryKeyRequired without a key, schema.ErrUnsupportedDataType for one of text or bytes; [ErrCondition] if
// the layout is not known.
func TableOf(ctx context.Context, db *gorm.DB, model any) (Table, error) {
	if err := checkHandle("TableOf", db); err != nil {
		return Table{}, err
	}

	stmt := &gorm.Statement{DB: db, Context: ctx, Clauses: map[string]clause.Clause{}}
	if err := stmt.Parse(model); err != nil {
		return Table{}, fmt.Errorf("gormplugin: TableOf %T: %w", model, err)
	}

	target, err := targetOf(stmt, "")
	if err != nil {
		return Table{}, err
	}
	layout, err := target.layout()
	if err != nil {
		return Table{}, err
	}

	pool, err := writePool(ctx, "TableOf", db, stmt.Table)
	if err != nil {
		return Table{}, err
	}

	sqlDB := connpool.SQLDB(pool)
	if sqlDB == nil {
		return Table{}, fmt.Errorf("gormplugin: TableOf needs a *sql.DB, not a %T: %w", pool, gorm.ErrInvalidDB)
	}

	table := Table{DB: sqlDB, Layout: layout}
	if p := of(db); p.lease != nil && connpool.Same(p.place.pool, pool) {
		table.Lease, table.Leases = p.lease, p.place.store
	}
	return table, nil
}
