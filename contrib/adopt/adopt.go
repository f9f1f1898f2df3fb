// Package adopt moves existing tables from auto-increment keys to keys that the application fills.
//
//	// The last step of the rollout, when no process of the old version is running:
//	err := adopt.DropAutoIncrement(db, &User{}, &Order{})
//
//	// Old rows keep their small keys. New rows get IDs from gormplugin, and ORDER BY id stays the order of creation.
//	err = db.Create(&User{Name: "new"}).Error
//
// Tables that AutoMigrate creates for models whose key is a snowflake.ID have no counter and need none of this. The
// [README] has the safe order of a rollout, and what becomes of old keys.
//
// [README]: https://github.com/sqlflake/sqlflake/blob/main/contrib/adopt/README.md
package adopt

import (
	"errors"
	"fmt"

	"gorm.io/gorm"
)

var (
	// ErrNoTable means that a model has no table in the database, or that db.Table has an expression instead of a name.
	ErrNoTable = errors.New("adopt: no such table")

	// ErrNoIntegerKey means that a model has no key that can hold a snowflake: it has no prioritized primary field, the
	// field has less than 64 bits in Go, or its column is missing or holds no integers.
	ErrNoIntegerKey = errors.New("adopt: no 64-bit integer key")

	// ErrAutoIncrementKept means that DropAutoIncrement changed nothing because of something that the caller has to
	// decide about. The message names it: the column's default is not a sequence, the sequence serves other columns
	// too, a foreign key prevents the column from becoming bigint, the handle's plugin lacks gormplugin.WithMinID, the
	// handle is in a transaction on MySQL or SQLite, or the table is in an attached file on SQLite.
	ErrAutoIncrementKept = errors.New("adopt: auto-increment kept")
)

// DropAutoIncrement makes the keys of existing tables plain 64-bit integers that the application fills: it removes the
// sequence, AUTO_INCREMENT or AUTOINCREMENT of the column of each model's key (GORM's prioritized primary field). Rows,
// foreign keys, indexes, comments, triggers and views stay. The README of the package says when to call it.
//
// The models may be the old or the new ones, and their tables may be in another schema ("audit.events"). The handle
// needs no plugin; one that it has is checked for gormplugin.WithMinID. A second call changes nothing. AutoMigrate,
// with the old or the new models, does not add a counter again, since GORM never changes the type of a key.
//
// # PostgreSQL
//
// The default and the sequence of a serial key, or the identity, are dropped, for all tables in one transaction, or in
// the handle's. A sequence that the column does not own is kept. The exclusive lock is short; to bound the wait for it,
// pass a transaction with lock_timeout. A 16- or 32-bit column becomes bigint, with the columns that refer to it. This
// rewrites the tables under the lock, and prepared statements of other processes fail once ("cached plan must not
// change result type"). Tables that inherit from it lose the default too. Meanwhile the search_path is "pg_catalog,
// pg_temp", and functions called by CHECK constraints, indexes and event triggers run under it.
//
// # MySQL and MariaDB
//
// MODIFY repeats the column's own definition without AUTO_INCREMENT. The type stays, since foreign keys must match it;
// signed and unsigned hold a snowflake. If the column takes part in foreign keys, foreign_key_checks is off for this
// session meanwhile. A smaller column becomes bigint if it takes part in no foreign key. MariaDB changes the table in
// place unless it widens the column; MySQL may copy it. If one table fails, the error names those that are done. The
// change waits for transactions that use the table, and later statements wait for it. Bound this with a context, whose
// end takes the change back, or with lock_wait_timeout on the handle of db.Connection.
//
// # SQLite
//
// The table is copied with its indexes and triggers (https://www.sqlite.org/lang_altertable.html#otheralter), all
// tables in one transaction, in the main file only. This takes the time and space of the rows, and the statistics of
// ANALYZE are lost. The driver's busy timeout, not the context, bounds the wait for other writers. A key without
// AUTOINCREMENT needs no change. References of another type in the new models, such as the bigint of an ID without a
// tag, make AutoMigrate rebuild the table again and lose its triggers: see gormplugin.Model for the tag.
//
// # Errors
//
// All models are checked before anything is changed. Errors are [ErrNoTable], [ErrNoIntegerKey],
// [ErrAutoIncrementKept], gorm.ErrUnsupportedDriver for other databases, gorm.ErrDryRunModeUnsupported, and errors of
// the database.
func DropAutoIncrement(db *gorm.DB, models ...any) error {
	if db != nil && db.Error != nil {
		return db.Error
	}
	return wrap("adopt: drop auto-increment", drop(db, models))
}

// drop checks the models and changes their tables.
func drop(db *gorm.DB, models []any) error {
	if err := checkHandle(db); err != nil {
		return err
	}

	keys, err := countedKeys(db, models)
	if err != nil {
		return err
	}

	db = db.Session(&gorm.Session{NewDB: true})

	switch db.Name() {
	case "postgres":
		return dropOnPostgres(db, keys)
	case "mysql":
		return dropOnMySQL(db, keys)
	case "sqlite":
		return dropOnSQLite(db, keys)
	}
	return fmt.Errorf("on %s: %w", db.Name(), gorm.ErrUnsupportedDriver)
}

// checkHandle returns an error for a handle that can't change anything.
func checkHandle(db *gorm.DB) error {
	switch {
	case db == nil, db.Config == nil, db.Dialector == nil:
		return gorm.ErrInvalidDB
	case db.DryRun:
		return gorm.ErrDryRunModeUnsupported
	}
	return db.Error
}

// wrap names what failed, unless the error is one that says so itself.
func wrap(what any, err error) error {
	for _, own := range []error{nil, ErrNoTable, ErrNoIntegerKey, ErrAutoIncrementKept} {
		if errors.Is(err, own) {
			return err
		}
	}
	return fmt.Errorf("%v: %w", what, err)
}
