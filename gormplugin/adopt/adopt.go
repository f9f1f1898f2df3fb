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
// foreign keys, indexes, comments, triggers and views stay. The README of the package says when to call it and what it
// does on each database.
//
// The models may be the old or the new ones, and their tables may be in another schema ("audit.events"). The handle
// needs no plugin; one that it has is checked for gormplugin.WithMinID. A second call changes nothing. AutoMigrate,
// with the old or the new models, does not add a counter again, since GORM never changes the type of a key.
//
// All models are checked before anything is changed. Errors are [ErrNoTable], [ErrNoIntegerKey],
// [ErrAutoIncrementKept], gorm.ErrUnsupportedDriver for other databases, gorm.ErrDryRunModeUnsupported, and errors of
// the database.
func DropAutoIncrement(db *gorm.DB, models ...any) error {
	if db == nil || db.Config == nil || db.Dialector == nil {
		return fmt.Errorf("adopt: drop auto-increment: %w", gorm.ErrInvalidDB)
	}
	if db.Error != nil {
		return db.Error
	}
	if db.DryRun {
		return fmt.Errorf("adopt: drop auto-increment: %w", gorm.ErrDryRunModeUnsupported)
	}
	keys, err := countedKeys(db, models)
	if err != nil {
		return err
	}
	session := db.Session(&gorm.Session{NewDB: true})
	switch db.Name() {
	case "postgres":
		return dropOnPostgres(session, keys)
	case "mysql":
		return dropOnMySQL(session, keys)
	case "sqlite":
		return dropOnSQLite(session, keys)
	default:
		return fmt.Errorf("adopt: drop auto-increment on %s: %w", db.Name(), gorm.ErrUnsupportedDriver)
	}
}
