package gormplugin

import (
	"fmt"
	"maps"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

const pluginName = "snowflake"

// Plugin fills primary keys and tagged fields before rows are created; see the package comment. It is a gorm.Plugin,
// for db.Use and gorm.Config.Plugins, and a gorm.Option, for gorm.Open. It may serve several handles and be used
// concurrently. The zero Plugin has no generator: make one with [New] or [Open].
//
// # Upserts
//
// The README has a table of what an upsert does to the key in the struct. Other generated fields, such as a public ID,
// stay as they are in the row, and the record takes them over. Fields that you or a hook set, and assignments of other
// values, are written, for each record separately. If RETURNING brings fewer rows than a list has records, a record
// whose key is among them takes its columns with a default from its row, and the others stay as they were. A record
// that DO NOTHING skips keeps what you changed in it.
//
// SQLite, PostgreSQL and MariaDB return the key with the statement. Further queries run only if records were skipped
// (one), for slices of maps, and if a WHERE excluded rows (one for the generated keys, one per 100 other rows). MySQL
// needs the same queries after a conflict, and the first one always for text and binary keys and records with another
// generated field. A single record with an integer key and no other generated field needs only the first.
//
// A generated ID that a row has already is [ErrRepeated] in every statement, and the row stays as it is. If all records
// have generated IDs, the clause leaves out DO UPDATE by their column. If only some do, the row is refused by an
// expression in the clause. On MySQL the expression is part of the first assignment to a column that is not the key.
//
// # Invalid records
//
// Structs and arrays by value, and nil maps, fail with gorm.ErrInvalidValue. So do structs of another type, unless each
// has an ID where the model has one: GORM goes by positions. Text for a number, or the reverse, does not count. A
// pointer that occurs twice in a slice is one record: gorm.ErrInvalidData, or one row with a conflict clause.
//
// # Failed statements and dry runs
//
// If a statement fails, its generated keys are cleared. So are they if an association or AfterCreate fails and the
// statement's own transaction is rolled back. They stay after a rollback by the caller and after a failed commit; in
// associations whose own INSERT succeeded; in earlier batches of CreateInBatches or CreateBatchSize; and, without a
// transaction, if the context ended or the connection was lost: the row may exist. A dry run (ToSQL) shows the keys,
// then clears them and references.
//
// # gorm.io/sharding
//
// Tested with v0.6.1, in either order of registration. Give the model ID int64 with the tag
// `gorm:"primaryKey;autoIncrement:false;snowflake"`, and the sharding plugin sharding.PKCustom with a
// PrimaryKeyGeneratorFn that returns 0. Query by the sharding key, without Page and CreatedBetween, and create records
// one by one with DO NOTHING: if it skips one of several, Create returns an error and they keep their keys. No
// transaction is around a single statement there.
type Plugin struct {
	*config
	err   error        // of the options
	lease *lease.Lease // of Open
	place leasePlace   // of the lease
}

// leasePlace is where a lease of Open is kept.
type leasePlace struct {
	store  leasestore.Store
	pool   gorm.ConnPool // of the store
	window time.Duration // that suits the database
}

var (
	_ gorm.Plugin = (*Plugin)(nil)
	_ gorm.Option = (*Plugin)(nil)
)

// New returns a plugin that takes its IDs from gen. [Plugin.Initialize] reports a nil gen and invalid options.
func New(gen Generator, opts ...Option) *Plugin {
	p := &Plugin{}
	p.config, p.err = newConfig(gen, opts)

	if p.err != nil {
		return p
	}

	switch {
	case isNil(gen):
		p.err = fmt.Errorf("%w: nil generator", ErrOption)
	case len(p.leaseOptions) > 0 || p.leaseTables != "":
		p.err = fmt.Errorf("%w: New does not take WithLayout, WithLease and WithLeaseTables, use Open", ErrOption)
	}
	return p
}

// of returns the plugin of a handle, or nil.
func of(db *gorm.DB) *Plugin {
	p, _ := db.Plugins[pluginName].(*Plugin)
	return p
}

// MinID returns the bound of [WithMinID], 0 without it.
func (p *Plugin) MinID() snowflake.ID {
	if p == nil || p.config == nil {
		return 0
	}
	return p.minID
}

// Name returns "snowflake". GORM rejects a second plugin of that name with gorm.ErrRegistered.
func (*Plugin) Name() string { return pluginName }

// Apply adds the plugin to the configuration of a handle that is being opened. It returns gorm.ErrRegistered if another
// Plugin is already registered. GORM calls it.
func (p *Plugin) Apply(config *gorm.Config) error {
	if other, ok := config.Plugins[pluginName]; ok && other != gorm.Plugin(p) {
		return errRegistered()
	}
	plugins := map[string]gorm.Plugin{pluginName: p} // the caller may open another handle with the old map
	maps.Copy(plugins, config.Plugins)
	config.Plugins = plugins
	return nil
}

func errRegistered() error {
	return fmt.Errorf("gormplugin: the handle already has a plugin of New or Open: %w", gorm.ErrRegistered)
}

// AfterInitialize does nothing: GORM initializes the plugins that [Plugin.Apply] put into the configuration.
func (*Plugin) AfterInitialize(*gorm.DB) error { return nil }
