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

	"github.com/sqlflake/sqlflake/gormplugin/internal/upsert"
	"github.com/sqlflake/sqlflake/internal/connpool"
	"github.com/sqlflake/sqlflake/snowflake"
)

// register puts the callbacks of the plugin among GORM's, each before one of these. GORM runs a callback last if the
// application has removed that one. Updates save associations too, and get the announcements only.
func register(db *gorm.DB, c *config) error {
	create, update := db.Callback().Create(), db.Callback().Update()
	if create.Get("snowflake:fill") != nil {
		return nil
	}
	if create.Get("gorm:before_create") == nil || create.Get("gorm:create") == nil {
		return fmt.Errorf("gormplugin: no callbacks for Create: %w", gorm.ErrInvalidDB)
	}
	h := &handle{config: c, dialect: upsert.Dialect{Returning: slices.Contains(create.Clauses, "RETURNING")}}
	if db.Dialector != nil {
		h.dialect.Name, h.dialect.MySQL = db.Name(), db.Name() == "mysql"
	}
	var wait error
	if c.ready != nil && create.Get("gorm:begin_transaction") != nil {
		// Before a connection is taken: if all connections waited for the lease, its extension would get none.
		wait = create.Before("gorm:begin_transaction").Register("snowflake:wait", h.wait)
	}
	err := errors.Join(
		wait,
		// Before the hooks, which may use the key. SkipDefaultTransaction leaves out gorm:begin_transaction.
		create.Before("gorm:before_create").Register("snowflake:fill", h.start),
		create.Before("gorm:save_before_associations").Register("snowflake:announce_before", h.announceBefore),
		// After the hooks, which may add clauses and clear or set keys.
		create.Before("gorm:create").Register("snowflake:rewrite", h.rewrite),
		create.Before("gorm:create").Register("snowflake:warn", h.warnMissed),
		// Before the associations that refer to the rows by their keys.
		create.Before("gorm:save_after_associations").Register("snowflake:resolve", h.resolve),
		create.Before("gorm:save_after_associations").Register("snowflake:announce_after", h.announceAfter),
		// After all that may fail, while it is known whether there is a transaction to roll back. After a failed commit
		// nobody knows whether the rows exist, so keys stay.
		create.Before("gorm:commit_or_rollback_transaction").Register("snowflake:finish", h.finish),

		update.Before("gorm:save_before_associations").Register("snowflake:announce_before", h.announceBefore),
		update.Before("gorm:save_after_associations").Register("snowflake:announce_after", h.announceAfter),
		update.Before("gorm:commit_or_rollback_transaction").Register("snowflake:finish", h.withdraw),
	)
	if err != nil {
		return fmt.Errorf("gormplugin: register the callbacks: %w", err)
	}
	return nil
}

// start is the callback before the hooks of a Create.
func (h *handle) start(db *gorm.DB) {
	if in := h.insertOf(db.Statement); in != nil && in.Waited {
		in.Waited = false // wait has just made it
	} else {
		h.discard(db.Statement)
	}
	if db.DryRun {
		stmt := db.Statement
		stmt.Settings.LoadOrStore(dryRunKey{}, &dryRun{stmt: stmt, ids: map[snowflake.ID]bool{}})
	}
	h.fill(db)
}

// discard removes an insert that is left over from a Create of the same statement that a panic in a hook has ended, and
// the text, which GORM would run again.
func (h *handle) discard(stmt *gorm.Statement) {
	if in := h.insertOf(stmt); in != nil && (in.Resolved || !isBuilt(stmt)) {
		in.Restore() // first: it puts back the clauses
		delete(stmt.Clauses, insertKey)
		stmt.SQL.Reset()
		stmt.Vars = nil
	}
}

// rewrite is the callback right before the statement is built: see package upsert.
func (h *handle) rewrite(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	s, in := stmt.Schema, h.insertOf(stmt)
	if in == nil || (s.BeforeCreate || s.BeforeSave) && !stmt.SkipHooks {
		// Again: a hook may have cleared a key, or the application has removed the callback before which fill runs.
		h.fill(db)
		in = h.insertOf(stmt)
	}
	clauses := len(stmt.Clauses)
	if in != nil {
		clauses-- // its own
	}
	p := h.planOf(s)
	if db.Error != nil || len(p.Columns) == 0 || len(stmt.Selects) == 0 && clauses == 0 && !hasClauses(s) {
		return
	}
	if in == nil {
		in = &upsert.Insert{Stmt: stmt, Columns: p.Active(stmt)}
		h.remember(in)
	}
	in.Rewrite(p, h.dialect)
}

// resolve is the callback right after the statement: see package upsert.
func (h *handle) resolve(db *gorm.DB) {
	if in := h.insertOf(db.Statement); in != nil {
		in.Resolve(db, h.planOf(db.Statement.Schema), h.dialect)
	}
}

// finish is the callback at the end of a Create. If the statement has failed, and its rows do not exist, the IDs that
// the records got are cleared. Its rows exist if it failed later, in a transaction that continues.
func (h *handle) finish(db *gorm.DB) {
	h.withdraw(db)
	h.resolve(db) // if the application has removed the callback before which it runs
	in := h.insertOf(db.Statement)
	if db.DryRun {
		defer h.endDryRun(db.Statement, in)
	}
	delete(db.Statement.Clauses, insertKey) // the statement may be used again
	if in != nil && db.Error != nil && (in.Repeated || hasTransaction(db) || in.Failed && !mayExist(db)) {
		in.TakeBack(h.planOf(db.Statement.Schema))
	}
}

// hasTransaction reports whether GORM has begun a transaction for the statement alone, which is rolled back if the
// statement fails. gorm.io/sharding begins none, and says that it has.
func hasTransaction(db *gorm.DB) bool {
	_, started := db.InstanceGet("gorm:started_transaction")
	return started && !connpool.IsSharded(db.Statement.ConnPool)
}

// mayExist reports whether a statement that has failed may still have written its rows. Outside of a transaction
// the server finishes what it has begun, even if the caller no longer waits or the connection is lost.
func mayExist(db *gorm.DB) bool {
	if _, inside := connpool.Unwrap(db.Statement.ConnPool); inside {
		return false
	}
	var network net.Error
	lost := []error{context.Canceled, context.DeadlineExceeded, driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF}
	return db.Statement.Context.Err() != nil || errors.As(db.Error, &network) ||
		slices.ContainsFunc(lost, func(err error) bool { return errors.Is(db.Error, err) }) ||
		strings.Contains(db.Error.Error(), "invalid connection") // mysql.ErrInvalidConn
}

// announceBefore is the callback before GORM saves the associations that the rows of the statement refer to.
func (h *handle) announceBefore(db *gorm.DB) {
	s := db.Statement.Schema
	if db.Error != nil || s == nil {
		return
	}
	p := h.planOf(s)
	if p.BadReference != nil { // of an Update: fill has checked the models of Create
		_ = db.AddError(p.BadReference)
		return
	}
	if len(s.Relationships.BelongsTo) == 0 {
		return
	}
	in := h.insertOf(db.Statement)
	if in != nil {
		h.announces.Store(true)
	}
	if h.announces.Load() {
		upsert.Announce(db.Statement, in, p.BelongsTo)
	}
}

// announceAfter is the callback before GORM saves the other associations.
func (h *handle) announceAfter(db *gorm.DB) {
	if s := db.Statement.Schema; db.Error == nil && s != nil && h.announces.Load() &&
		len(s.Relationships.HasOne)+len(s.Relationships.HasMany)+len(s.Relationships.Many2Many) > 0 {
		upsert.Announce(db.Statement, nil, h.planOf(s).Many2Many)
	}
}

// withdraw is the callback at the end of an Update, and of a Create.
func (h *handle) withdraw(db *gorm.DB) {
	if h.announces.Load() {
		upsert.Withdraw(db.Statement)
	}

	// GORM adds the error of a many-to-many association twice.
	if cause := errors.Unwrap(db.Error); errors.Is(cause, ErrKeyUnknown) || errors.Is(cause, ErrRepeated) {
		if text := cause.Error(); strings.ReplaceAll(db.Error.Error(), text+"; ", "") == text {
			db.Error = cause
		}
	}
}
