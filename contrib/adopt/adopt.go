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
	"reflect"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

var (
	// ErrNoTable means that a model has no table in the database, or that db.Table has an expression instead of a name.
	ErrNoTable = errors.New("adopt: no such table")

	// ErrNoIntegerKey means that a model has no key that can hold a snowflake: it has no prioritized primary field, the
	// field has less than 64 bits in Go, or its column is missing or is no bigint (on SQLite, no integer).
	ErrNoIntegerKey = errors.New("adopt: no 64-bit integer key")

	// ErrAutoIncrementKept means that DropAutoIncrement changed nothing, since the caller has to decide first. The
	// message says what: the default is not a sequence, a definition can't be parsed, the plugin lacks
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

// drop checks all models before it changes the first table.
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
	if err == nil {
		return nil
	}

	for _, own := range []error{ErrNoTable, ErrNoIntegerKey, ErrAutoIncrementKept} {
		if errors.Is(err, own) {
			return err
		}
	}
	return fmt.Errorf("%v: %w", what, err)
}

// maxCounted is more than any counter reaches: 30 years of 1,000 rows a second.
const maxCounted = 1_000_000_000_000

// countedKey is the key column of a model.
type countedKey struct {
	schema string // the schema, or the database on MySQL; "" for the default one
	table  string
	column string
}

func (k countedKey) String() string { return k.name() + "." + k.column }

// name returns the table with its schema if it has one.
func (k countedKey) name() string {
	if k.schema == "" {
		return k.table
	}
	return k.schema + "." + k.table
}

// quoted returns name as an identifier. A PostgreSQL schema may have a dot in its name, at which GORM would split it.
func (k countedKey) quoted(db *gorm.DB) string {
	if db.Name() == "postgres" && k.schema != "" {
		return pgsql.Name(k.schema) + "." + pgsql.Name(k.table)
	}
	return db.Statement.Quote(k.name())
}

// refused is the error for what DropAutoIncrement does not do.
func (k countedKey) refused(reason error, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", reason, k, fmt.Sprintf(format, args...))
}

// each calls f for all keys until it fails, and names the key in the error.
func each(keys []countedKey, f func(i int, k countedKey) error) error {
	for i, k := range keys {
		if err := wrap(k, f(i, k)); err != nil {
			return err
		}
	}
	return nil
}

// readAll returns what read finds about each key. It stops at the first key that must not be changed: read rejects it,
// or conditions on the time of IDs would find its old rows.
func readAll[T any](db *gorm.DB, keys []countedKey, read func(k countedKey, db *gorm.DB) (T, error)) ([]T, error) {
	found := make([]T, len(keys))
	err := each(keys, func(i int, k countedKey) (err error) {
		if found[i], err = read(k, db); err != nil {
			return err
		}
		return k.checkMinID(db)
	})
	return found, err
}

// countedKeys returns the key columns of the models, each once.
func countedKeys(db *gorm.DB, models []any) ([]countedKey, error) {
	var keys []countedKey
	for _, model := range models {
		stmt := &gorm.Statement{DB: db}
		if db.Statement != nil { // db.Table("...")
			stmt.Table, stmt.TableExpr = db.Statement.Table, db.Statement.TableExpr
		}

		if err := stmt.ParseWithSpecialTableName(model, stmt.Table); err != nil {
			return nil, err
		}

		name, err := schemaOf(stmt)
		if err != nil {
			return nil, err
		}

		field := stmt.Schema.PrioritizedPrimaryField
		if field == nil || field.DBName == "" {
			return nil, fmt.Errorf("%w: model %s has no primary key called ID and no single one",
				ErrNoIntegerKey, stmt.Schema)
		}

		key := countedKey{name, stmt.Table, field.DBName}
		if isNarrow(field) {
			return nil, key.refused(ErrNoIntegerKey, "the field is of type %s", field.FieldType)
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// checkMinID returns an error if conditions on the time of IDs find keys that the database has made, since the plugin
// of the handle lacks gormplugin.WithMinID. A key is taken for one if it is below a thousandth of the present IDs, and
// below maxCounted: above it are IDs that were made soon after the epoch.
func (k countedKey) checkMinID(db *gorm.DB) error {
	plugin, ok := db.Plugins["snowflake"].(*gormplugin.Plugin)
	if !ok {
		return nil
	}

	// The condition asks the plugin for the least ID of now, which is the same for every table.
	present := db.Session(&gorm.Session{DryRun: true, Logger: logger.Discard}).Table("keys").
		Where(gormplugin.CreatedSince(time.Now()).On("id")).Find(&[]map[string]any{})
	switch {
	case errors.Is(present.Error, gormplugin.ErrCondition), errors.Is(present.Error, snowflake.ErrFieldOrder):
		return nil // the layout is not known, or has too many ranges: these conditions fail
	case present.Error != nil:
		return present.Error
	}

	id, _ := present.Statement.Vars[0].(snowflake.ID)

	// The bounds are in the text: pgx sends an argument in the type of the column, which may have 16 bits.
	query := fmt.Sprintf("SELECT max(%[1]s) FROM %[2]s WHERE %[1]s >= %[3]d AND %[1]s < %[4]d",
		db.Statement.Quote(k.column), k.quoted(db), plugin.MinID(), min(id/1000, maxCounted))
	var old *int64
	err := db.Raw("?", gorm.Expr(query)).Row().Scan(&old)
	if err != nil || old == nil {
		return err
	}

	return k.refused(ErrAutoIncrementKept, "the database has made the keys up to %d, and gormplugin.CreatedBefore "+
		"would find them all; give the plugin gormplugin.WithMinID(%d), or a larger number below its IDs", *old, *old+1)
}

// schemaOf returns the schema of the statement's table. GORM keeps it only in the table's expression.
func schemaOf(stmt *gorm.Statement) (string, error) {
	if stmt.TableExpr == nil || stmt.TableExpr.SQL == stmt.Quote(stmt.Table) {
		return "", nil
	}

	quoted, ok := strings.CutSuffix(stmt.TableExpr.SQL, "."+stmt.Quote(stmt.Table))
	if ok && len(quoted) >= 2 {
		if name := quoted[1 : len(quoted)-1]; stmt.Quote(name) == quoted {
			return name, nil
		}
	}

	return "", fmt.Errorf("%w: %s is an expression, want a table name", ErrNoTable, stmt.TableExpr.SQL)
}

// isNarrow reports whether the field is an integer that cannot hold all snowflakes.
func isNarrow(field *schema.Field) bool {
	zero := reflect.Zero(field.IndirectFieldType)
	isInteger := zero.CanInt() || zero.CanUint()
	return isInteger && zero.Type().Bits() < 64
}
