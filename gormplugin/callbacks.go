package gormplugin

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/gormplugin/internal/upsert"
	"github.com/sqlflake/sqlflake/internal/connpool"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Initialize registers the callbacks with a handle. GORM calls it. The second call does nothing. It returns an error
// that wraps [ErrOption] for a nil generator or an invalid option, or gorm.ErrInvalidDB if the handle has no callbacks
// for Create, which every dialect registers.
func (p *Plugin) Initialize(db *gorm.DB) error {
	switch {
	case p == nil || p.config == nil:
		return fmt.Errorf("%w: nil plugin", ErrOption)
	case p.err != nil:
		return p.err
	}

	if err := p.checkMinID(); err != nil {
		return err
	}
	return register(db, p.config)
}

// register puts the callbacks of the plugin among GORM's, each before one of them. If the application has removed that
// one, GORM runs the plugin's callback last. An Update saves associations as well, so it gets the announcements.
func register(db *gorm.DB, shared *config) error {
	create, update := db.Callback().Create(), db.Callback().Update()
	if create.Get("snowflake:fill") != nil {
		return nil
	}
	if create.Get("gorm:before_create") == nil || create.Get("gorm:create") == nil {
		return fmt.Errorf("gormplugin: no callbacks for Create: %w", gorm.ErrInvalidDB)
	}

	c := &callbacks{config: shared, dialect: upsert.Dialect{Returning: slices.Contains(create.Clauses, "RETURNING")}}
	if db.Dialector != nil {
		c.dialect.Name, c.dialect.MySQL = db.Name(), db.Name() == "mysql"
	}

	var wait error
	if shared.ready != nil && create.Get("gorm:begin_transaction") != nil {
		// Before a connection is taken: if all connections waited for the lease, its extension would get none.
		wait = create.Before("gorm:begin_transaction").Register("snowflake:wait", c.wait)
	}

	err := errors.Join(
		wait,
		// Before the hooks, which may use the key. SkipDefaultTransaction leaves out gorm:begin_transaction.
		create.Before("gorm:before_create").Register("snowflake:fill", c.start),
		create.Before("gorm:save_before_associations").Register("snowflake:announce_before", c.announceBefore),
		// After the hooks, which may add clauses and clear or set keys.
		create.Before("gorm:create").Register("snowflake:rewrite", c.rewrite),
		create.Before("gorm:create").Register("snowflake:warn", c.warnMissed),
		// Before the associations that refer to the rows by their keys.
		create.Before("gorm:save_after_associations").Register("snowflake:resolve", c.resolve),
		create.Before("gorm:save_after_associations").Register("snowflake:announce_after", c.announceAfter),
		// After all that may fail, while it is known whether there is a transaction to roll back. After a failed commit
		// the rows may exist or not, so keys stay.
		create.Before("gorm:commit_or_rollback_transaction").Register("snowflake:finish", c.finish),

		update.Before("gorm:save_before_associations").Register("snowflake:announce_before", c.announceBefore),
		update.Before("gorm:save_after_associations").Register("snowflake:announce_after", c.announceAfter),
		update.Before("gorm:commit_or_rollback_transaction").Register("snowflake:finish", c.withdraw),
	)
	if err != nil {
		return fmt.Errorf("gormplugin: register the callbacks: %w", err)
	}
	return nil
}

// wait runs before GORM takes a connection for the transaction. If the lease is not ready, as after an outage or the
// sleep of a laptop, it fills the keys, which waits for the lease. If all waiting calls held a connection, there might
// be none left for the extension.
func (c *callbacks) wait(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || isBuilt(stmt) {
		return // it runs last if the application has removed gorm:begin_transaction
	}

	c.discard(stmt)
	if _, inside := connpool.Unwrap(stmt.ConnPool); inside || c.ready() == nil {
		return
	}

	c.fill(db)
	if in := c.insertOf(stmt); in != nil {
		in.Waited = true
	}
}

// start runs before the hooks of a Create.
func (c *callbacks) start(db *gorm.DB) {
	if in := c.insertOf(db.Statement); in != nil && in.Waited {
		in.Waited = false // wait has just made it
	} else {
		c.discard(db.Statement)
	}

	if db.DryRun {
		stmt := db.Statement
		stmt.Settings.LoadOrStore(dryRunKey{}, &dryRun{stmt: stmt, ids: map[snowflake.ID]bool{}})
	}
	c.fill(db)
}

// discard removes what a Create of the same statement has left behind after a panic in a hook: its insert, and its SQL
// text, which GORM would run again.
func (c *callbacks) discard(stmt *gorm.Statement) {
	in := c.insertOf(stmt)
	if in == nil {
		return
	}
	if isRunning := isBuilt(stmt) && !in.Resolved; isRunning {
		return
	}

	in.Restore() // first: it puts back the clauses
	delete(stmt.Clauses, insertKey)
	stmt.SQL.Reset()
	stmt.Vars = nil
}

// rewrite runs right before the statement is built: see package upsert.
func (c *callbacks) rewrite(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}

	in := c.insertOf(stmt)
	if in == nil || hasHooks(stmt) {
		// Again: a hook may have cleared a key, or the application has removed gorm:before_create.
		c.fill(db)
		in = c.insertOf(stmt)
	}
	p := c.planOf(stmt.Schema)
	if db.Error != nil || len(p.Columns) == 0 {
		return
	}
	if isPlain(stmt, in) {
		return
	}

	if in == nil {
		in = &upsert.Insert{Stmt: stmt, Columns: p.Active(stmt)}
		c.remember(in)
	}
	in.Rewrite(p, c.dialect)
}

// hasHooks reports whether hooks have run, which may have changed keys.
func hasHooks(stmt *gorm.Statement) bool {
	hasAny := stmt.Schema.BeforeCreate || stmt.Schema.BeforeSave
	return hasAny && !stmt.SkipHooks
}

// isPlain reports whether an INSERT has neither a selection nor clauses of the caller or of the types of its fields.
func isPlain(stmt *gorm.Statement, in *upsert.Insert) bool {
	clauses := len(stmt.Clauses)
	if in != nil {
		clauses-- // its own
	}
	if clauses > 0 || hasClauses(stmt.Schema) {
		return false
	}
	return len(stmt.Selects) == 0
}

// resolve runs right after the statement: see package upsert.
func (c *callbacks) resolve(db *gorm.DB) {
	if in := c.insertOf(db.Statement); in != nil {
		in.Resolve(db, c.planOf(db.Statement.Schema), c.dialect)
	}
}

// finish runs at the end of a Create. It clears the IDs that the records got if the statement has failed and its rows
// do not exist. They exist if a later step failed, in a transaction that continues.
func (c *callbacks) finish(db *gorm.DB) {
	c.withdraw(db)
	c.resolve(db) // in case the application has removed gorm:save_after_associations

	in := c.insertOf(db.Statement)
	if db.DryRun {
		defer c.endDryRun(db.Statement, in)
	}

	delete(db.Statement.Clauses, insertKey) // the statement may be used again
	if hasFailed := in != nil && db.Error != nil; hasFailed && hasNoRows(db, in) {
		in.TakeBack()
	}
}

// hasNoRows reports whether the rows of a statement that has failed do not exist, or will not.
func hasNoRows(db *gorm.DB, in *upsert.Insert) bool {
	if in.Repeated || hasTransaction(db) {
		return true
	}
	return in.Failed && !mayExist(db)
}

// hasTransaction reports whether GORM has begun a transaction for the statement alone, which is rolled back if the
// statement fails. gorm.io/sharding begins none, and says that it has.
func hasTransaction(db *gorm.DB) bool {
	_, started := db.InstanceGet("gorm:started_transaction")
	return started && !connpool.IsSharded(db.Statement.ConnPool)
}

// mayExist reports whether a statement that has failed may still have written its rows. Outside of a transaction the
// server finishes what it has begun, even if the caller no longer waits or the connection is lost.
func mayExist(db *gorm.DB) bool {
	if _, inside := connpool.Unwrap(db.Statement.ConnPool); inside {
		return false
	}
	if db.Statement.Context.Err() != nil {
		return true
	}

	lost := []error{context.Canceled, context.DeadlineExceeded, driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF}
	if slices.ContainsFunc(lost, func(err error) bool { return errors.Is(db.Error, err) }) {
		return true
	}
	var network net.Error
	isInvalid := strings.Contains(db.Error.Error(), "invalid connection") // mysql.ErrInvalidConn
	return isInvalid || errors.As(db.Error, &network)
}

// announceBefore runs before GORM saves belongs-to associations, which the rows of the statement refer to.
func (c *callbacks) announceBefore(db *gorm.DB) {
	s := db.Statement.Schema
	if db.Error != nil || s == nil {
		return
	}

	p := c.planOf(s)
	if p.BadReference != nil { // of an Update: fill has checked the models of Create
		_ = db.AddError(p.BadReference)
		return
	}
	if len(s.Relationships.BelongsTo) == 0 {
		return
	}

	in := c.insertOf(db.Statement)
	if in != nil {
		c.announces.Store(true)
	}
	if c.announces.Load() {
		upsert.Announce(db.Statement, in, p.BelongsTo)
	}
}

// announceAfter runs after the INSERT, before GORM saves has-one, has-many and many-to-many associations.
func (c *callbacks) announceAfter(db *gorm.DB) {
	s := db.Statement.Schema
	if db.Error != nil || s == nil {
		return
	}
	relations := len(s.Relationships.HasOne) + len(s.Relationships.HasMany) + len(s.Relationships.Many2Many)
	if relations > 0 && c.announces.Load() {
		upsert.Announce(db.Statement, nil, c.planOf(s).Many2Many)
	}
}

// withdraw runs at the end of an Update or a Create.
func (c *callbacks) withdraw(db *gorm.DB) {
	if c.announces.Load() {
		upsert.Withdraw(db.Statement)
	}

	// GORM adds the error of a many-to-many association twice.
	if cause := errors.Unwrap(db.Error); errors.Is(cause, ErrKeyUnknown) || errors.Is(cause, ErrRepeated) {
		if text := cause.Error(); strings.ReplaceAll(db.Error.Error(), text+"; ", "") == text {
			db.Error = cause
		}
	}
}

// dryRun is a Create that writes nothing, and all that GORM does for its associations. The text shows the IDs, and the
// records lose them again at the end, together with the references: a later Save has to create the records.
type dryRun struct {
	stmt *gorm.Statement
	all  []*gorm.Statement // of the associations, and stmt itself
	ids  map[snowflake.ID]bool
}

// dryRunKey is the key of a dryRun in the settings of a statement. GORM copies the settings to the statements of
// associations.
type dryRunKey struct{}

// endDryRun is called at the end of a Create, also of an association. in is nil if no record got an ID.
func (c *callbacks) endDryRun(stmt *gorm.Statement, in *upsert.Insert) {
	found, _ := stmt.Settings.Load(dryRunKey{})
	d, begun := found.(*dryRun)
	if !begun || stmt.Schema == nil {
		return
	}

	d.all = append(d.all, stmt)
	if in != nil {
		for _, id := range in.IDs {
			d.ids[id] = id != 0
		}
	}

	if d.stmt != stmt {
		return
	}

	stmt.Settings.Delete(dryRunKey{})
	for _, stmt := range d.all {
		if r, err := model.RecordsOf(stmt, nil); err == nil {
			_ = stmt.AddError(r.ClearAll(d.ids))
		}
	}
}
