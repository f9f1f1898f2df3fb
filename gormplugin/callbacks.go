package gormplugin

import (
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"
)

// register puts the callbacks of the plugin among GORM's. Each has a place before one of GORM's; GORM runs a callback
// last if the one it names is not there. They run in this order:
//
//	snowflake:wait              before a connection is taken: if all connections waited for the lease, its extension would
//	                            get none. Only with a lease and default transactions, without which there is no such moment
//	gorm:begin_transaction
//	snowflake:fill              before the hooks, which may use the key. Not before gorm:begin_transaction, which is not there
//	                            under SkipDefaultTransaction
//	gorm:before_create          hooks
//	snowflake:announce_before   before the associations that it is about, which may fail by it
//	gorm:save_before_associations
//	snowflake:rewrite           after the hooks, which may add clauses and clear keys, and right before the clauses are built
//	snowflake:warn              after the hooks, which may set keys that the plugin does not fill
//	gorm:create
//	snowflake:settle            before the associations that refer to the rows by their keys
//	snowflake:announce_after    after settle, which asks for the announcement of the statement above
//	gorm:save_after_associations
//	gorm:after_create           hooks
//	snowflake:finish            after all that may fail, and while it is known whether there is a transaction to roll back.
//	                            A failed commit comes later: nobody knows then whether the rows are there, so keys stay
//	gorm:commit_or_rollback_transaction
//
// Updates save associations too, and get the announcements only.
func register(db *gorm.DB, c *config) error {
	create, update := db.Callback().Create(), db.Callback().Update()
	if create.Get("snowflake:fill") != nil {
		return nil
	}
	if create.Get("gorm:before_create") == nil || create.Get("gorm:create") == nil {
		return fmt.Errorf("gormplugin: no callbacks for Create: %w", gorm.ErrInvalidDB)
	}
	h := &handle{
		config:    c,
		returning: slices.Contains(create.Clauses, "RETURNING"),
		mysql:     db.Dialector != nil && db.Name() == "mysql",
	}
	var wait error
	if gen, leased := c.gen.(*leasedGenerator); leased && create.Get("gorm:begin_transaction") != nil {
		wait = create.Before("gorm:begin_transaction").Register("snowflake:wait", h.wait(gen))
	}
	err := errors.Join(
		wait,
		create.Before("gorm:before_create").Register("snowflake:fill", h.start),
		create.Before("gorm:save_before_associations").Register("snowflake:announce_before", h.announceBefore),
		create.Before("gorm:create").Register("snowflake:rewrite", h.rewrite),
		create.Before("gorm:create").Register("snowflake:warn", h.warnMissed),
		create.Before("gorm:save_after_associations").Register("snowflake:settle", h.settle),
		create.Before("gorm:save_after_associations").Register("snowflake:announce_after", h.announceAfter),
		create.Before("gorm:commit_or_rollback_transaction").Register("snowflake:finish", h.finish),
		update.Before("gorm:save_before_associations").Register("snowflake:announce_before", h.announceBeforeUpdate),
		update.Before("gorm:save_after_associations").Register("snowflake:announce_after", h.announceAfter),
		update.Before("gorm:commit_or_rollback_transaction").Register("snowflake:finish", h.withdraw),
	)
	if err != nil {
		return fmt.Errorf("gormplugin: register the callbacks: %w", err)
	}
	return nil
}
