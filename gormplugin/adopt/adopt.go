// Package adopt changes existing tables with auto-increment keys into tables whose keys the application fills.
package adopt

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

var (
	// ErrNoTable is returned by [DropAutoIncrement] if a model has no table in the database, where AutoMigrate makes it
	// without a counter if the key is a snowflake.ID, and for a db.Table that is an expression.
	ErrNoTable = errors.New("adopt: no such table")

	// ErrNoIntegerKey is returned by [DropAutoIncrement] if a model has no key that could hold a snowflake: no prioritized
	// primary field, one of less than 64 bits in Go, or one whose column is missing or holds no integers.
	ErrNoIntegerKey = errors.New("adopt: no 64-bit integer key")

	// ErrAutoIncrementKept is returned by [DropAutoIncrement] if something is in the way that it will not decide about. The
	// message names it. The tables are as they were.
	ErrAutoIncrementKept = errors.New("adopt: auto-increment kept")
)

// DropAutoIncrement makes the keys of existing tables plain integers of 64 bits, which the application fills: it takes
// away the sequence, AUTO_INCREMENT or AUTOINCREMENT behind the column of each model's key (GORM's prioritized primary
// field). Rows keep their keys, and foreign keys, indexes, comments, triggers and views stay. The models may be the old
// ones or the new ones, their tables in another schema ("audit.events"), and the handle needs no plugin. A second call
// changes nothing. AutoMigrate, with the old model or the new one, does not bring a counter back, since GORM never changes
// the type of a key.
//
// # When to call it
//
// Last. A process that leaves the key to the database can insert no row afterwards. The safe order is:
//
//  1. Prepare the readers. A client that takes JSON keys for numbers rounds snowflakes, and old processes with keys of 32
//     bits in Go cannot read them. Columns of 32 bits (serial, int) must be widened by hand, with those that refer to
//     them, or the first snowflake is refused as out of range.
//  2. Replace the processes by new ones, with the plugin and models whose key is a snowflake.ID. See below for a time
//     in which both insert rows.
//  3. When the last old process has ended, call DropAutoIncrement.
//
// On PostgreSQL old and new processes may insert rows side by side for as long as it takes: the sequence does not notice
// keys that are given, and goes on with small numbers.
//
// On MySQL, MariaDB and SQLite the counter follows the largest key. As soon as a new process has written a snowflake, the
// rows of old processes get the numbers that follow it, and those are what a generator issues next in the same
// millisecond. No row is overwritten, but one of the two inserts fails with a duplicate key. So end the old writers
// before the first new one starts, or have both retry on gorm.ErrDuplicatedKey. The counter never comes down again: a
// snowflake once written, processes that are rolled back to the old version count on from there.
//
// Small old keys and snowflakes do not meet, and ORDER BY id remains the order of creation: with the default layout, an
// ID made in 2026 or later exceeds 10^17.
//
// # What a row without a key gets afterwards
//
// PostgreSQL refuses it (a NOT NULL violation), and so do MySQL and MariaDB in their strict mode, which is the default;
// without it they store the key 0, once. SQLite cannot be brought to refuse it: a key of type integer is the rowid, and
// SQLite gives a row without one the largest plus 1, with AUTOINCREMENT or not. What changes there is that inserts no
// longer write to the table sqlite_sequence. If the key has no AUTOINCREMENT, there is nothing to do on SQLite.
//
// # What it does
//
//   - PostgreSQL: DROP DEFAULT and DROP SEQUENCE for a serial key (a sequence that the column does not own stays), DROP
//     IDENTITY for an identity column, all tables in one transaction, or in that of the handle. The lock is exclusive
//     but short. A column of 16 or 32 bits becomes a bigint, and so do the columns that refer to it by a foreign key;
//     this rewrites these tables while they are locked, and statements that other processes have prepared for them fail
//     once ("cached plan must not change result type"). Tables that inherit from it lose the default too. For a bound on
//     the wait for the locks, set lock_timeout in a transaction and pass that.
//   - MySQL, MariaDB: ALTER TABLE ... MODIFY with the column's own definition without AUTO_INCREMENT: the type stays,
//     unsigned or not, since foreign keys must match it, and both hold a snowflake. If foreign keys refer to the
//     column, they are not checked in this session meanwhile. A column of less than 64 bits becomes bigint if no foreign
//     key concerns it. MariaDB does this at once, unless it widens; MySQL may have to copy the table. Each table is changed
//     for itself: if one fails, the error says which ones are done. The change waits for the transactions that use the
//     table, and all that come later wait for the change: bound this with a context, whose end takes the change back, or
//     with lock_wait_timeout on the handle that db.Connection gives.
//   - SQLite: the table is copied into a new one that takes its place, with its indexes and triggers
//     (https://www.sqlite.org/lang_altertable.html#otheralter), all tables in one transaction, which takes the time and
//     the space of the rows. It waits for other writers as long as the driver's busy timeout says, whatever the context.
//     Only tables of the main file are changed. What ANALYZE has found out about the table is lost. References of
//     another type in the new models, such as the bigint of an ID without tag, make AutoMigrate rebuild the table as
//     well, and GORM loses its triggers then: see gormplugin.Model for the tag of keys, whose references follow.
//
// Everything is looked at before anything is changed. Errors are [ErrNoTable], [ErrNoIntegerKey], [ErrAutoIncrementKept]
// (the default of the column is something else than a sequence, the sequence serves other columns too, a foreign key
// forbids to widen, the handle is in a transaction on MySQL or SQLite, the table is in an attached file on SQLite),
// gorm.ErrUnsupportedDriver for other databases, gorm.ErrDryRunModeUnsupported, and those of the database.
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
	if err != nil || len(keys) == 0 {
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

// countedKey is the key column of a model.
type countedKey struct {
	space  string // the schema, or the database on MySQL; "" for the one that is searched
	table  string
	column string
}

func (k countedKey) String() string { return k.name() + "." + k.column }

// name returns the table as GORM has it, with its schema if there is one.
func (k countedKey) name() string {
	if k.space == "" {
		return k.table
	}
	return k.space + "." + k.table
}

// kept is the error for what DropAutoIncrement will not do.
func (k countedKey) kept(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrAutoIncrementKept, k, fmt.Sprintf(format, args...))
}

func (k countedKey) noInteger(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrNoIntegerKey, k, fmt.Sprintf(format, args...))
}

func (k countedKey) noTable() error { return fmt.Errorf("%w: %s", ErrNoTable, k.name()) }

// failed wraps an error of the database.
func (k countedKey) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("adopt: drop auto-increment of %s: %w", k, err)
}

func countedKeys(db *gorm.DB, models []any) ([]countedKey, error) {
	var keys []countedKey
	for _, model := range models {
		stmt := &gorm.Statement{DB: db}
		if db.Statement != nil { // db.Table("...")
			stmt.Table, stmt.TableExpr = db.Statement.Table, db.Statement.TableExpr
		}
		if err := stmt.ParseWithSpecialTableName(model, stmt.Table); err != nil {
			return nil, fmt.Errorf("adopt: drop auto-increment: %w", err)
		}
		space, err := spaceOf(stmt)
		if err != nil {
			return nil, err
		}
		field := stmt.Schema.PrioritizedPrimaryField
		if field == nil || field.DBName == "" {
			return nil, fmt.Errorf("%w: model %s has no key that is called ID or is the only one", ErrNoIntegerKey, stmt.Schema)
		}
		if key := (countedKey{space, stmt.Table, field.DBName}); isNarrow(field) {
			return nil, key.noInteger("the field is of type %s", field.FieldType)
		} else if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// spaceOf returns the schema of the statement's table. GORM keeps it in the expression for the table only.
func spaceOf(stmt *gorm.Statement) (string, error) {
	if stmt.TableExpr == nil || stmt.TableExpr.SQL == stmt.Quote(stmt.Table) {
		return "", nil
	}
	space, ok := strings.CutSuffix(stmt.TableExpr.SQL, "."+stmt.Quote(stmt.Table))
	if len(space) < 2 || !ok || stmt.Quote(space[1:len(space)-1]) != space {
		return "", fmt.Errorf("%w: %s is not the name of one", ErrNoTable, stmt.TableExpr.SQL)
	}
	return space[1 : len(space)-1], nil
}

// isNarrow reports whether the field is an integer that cannot hold all snowflakes.
func isNarrow(field *schema.Field) bool {
	switch t := field.IndirectFieldType; t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return t.Bits() < 64
	default:
		return false
	}
}

// inTransaction reports whether the handle is one that Begin or Transaction made.
func inTransaction(db *gorm.DB) bool {
	_, ok := db.Statement.ConnPool.(gorm.TxCommitter)
	return ok
}

// verbatim is SQL in which GORM must not look for parameters.
type verbatim string

func (v verbatim) Build(builder clause.Builder) { _, _ = builder.WriteString(string(v)) }

func run(db *gorm.DB, statement string) error {
	return db.Exec("?", verbatim(statement)).Error
}
