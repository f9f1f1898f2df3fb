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
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
)

var (
	// ErrNoTable means that a model has no table in the database, or that db.Table has an expression instead of a name.
	ErrNoTable = errors.New("adopt: no such table")

	// ErrNoIntegerKey means that a model has no key that can hold a snowflake: it has no prioritized primary field, the
	// field has less than 64 bits in Go, or its column is missing or is no bigint (on SQLite, no integer).
	ErrNoIntegerKey = errors.New("adopt: no 64-bit integer key")

	// ErrAutoIncrementKept means that DropAutoIncrement changed nothing because of something that the caller has to
	// decide about. The message names it: the column's default is not a sequence, the handle's plugin lacks
	// gormplugin.WithMinID, or the handle is in a transaction on MySQL.
	ErrAutoIncrementKept = errors.New("adopt: auto-increment kept")
)

// DropAutoIncrement makes the keys of existing tables plain 64-bit integers that the application fills: it removes the
// sequence, the identity or AUTO_INCREMENT of the column of each model's key (GORM's prioritized primary field). Rows,
// foreign keys, indexes, comments, triggers and views stay. The README of the package says when to call it.
//
// The models may be the old or the new ones, and their tables may be in another schema ("audit.events"). The handle
// needs no plugin; one that it has is checked for gormplugin.WithMinID. A second call changes nothing. AutoMigrate,
// with the old or the new models, does not add a counter again, since GORM never changes the type of a key.
//
// # PostgreSQL
//
// The default and the sequence of a serial key, or the identity, are dropped, for all tables in one transaction, or in
// the handle's. A sequence that the column does not own is kept; one that other columns use too is an error of the
// database. The exclusive lock is short; to bound the wait for it, pass a transaction with lock_timeout. Tables that
// inherit from it lose the default too. Meanwhile the search_path is "pg_catalog, pg_temp", and functions called by
// event triggers run under it.
//
// # MySQL and MariaDB
//
// MODIFY repeats the column's own definition without AUTO_INCREMENT. The type stays, since foreign keys must match it;
// signed and unsigned hold a snowflake. For this session foreign_key_checks is off meanwhile. MariaDB changes the table
// in place; MySQL may copy it. If one table fails, those before it are done, and the next call continues. The change
// waits for transactions that use the table, and later statements wait for it: bound this with lock_wait_timeout on the
// handle of db.Connection. The end of a context closes the connection, but the server may still make the change.
//
// # SQLite
//
// Nothing is changed: AUTOINCREMENT, like each INTEGER PRIMARY KEY, numbers only rows without a key.
//
// # Errors
//
// All models are checked before anything is changed. Errors are [ErrNoTable], [ErrNoIntegerKey],
// [ErrAutoIncrementKept], gorm.ErrUnsupportedDriver for other databases, gorm.ErrDryRunModeUnsupported, and errors of
// the database.
func DropAutoIncrement(db *gorm.DB, models ...any) error {
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
		return each(keys, func(_ int, k countedKey) error { return k.checkOnSQLite(db) })
	}
	return fmt.Errorf("on %s: %w", db.Name(), gorm.ErrUnsupportedDriver)
}

// checkOnSQLite returns an error for a key that is none, or that conditions on time would find.
func (k countedKey) checkOnSQLite(db *gorm.DB) error {
	const query = "SELECT name, type FROM pragma_table_info(?, ?)"
	var columns []struct{ Name, Type string }
	if err := db.Raw(query, k.table, cmp.Or(k.schema, "main")).Scan(&columns).Error; err != nil {
		return err
	}
	if len(columns) == 0 {
		return fmt.Errorf("%w: %s", ErrNoTable, k.name())
	}

	at := slices.IndexFunc(columns, func(c struct{ Name, Type string }) bool {
		return strings.EqualFold(c.Name, k.column)
	})
	switch {
	case at < 0:
		return k.refused(ErrNoIntegerKey, "the table has no such column")
	// https://www.sqlite.org/datatype3.html#determination_of_column_affinity
	case !strings.Contains(strings.ToUpper(columns[at].Type), "INT"):
		return k.refused(ErrNoIntegerKey, "the column is of type %q", columns[at].Type)
	}

	return k.checkMinID(db)
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
