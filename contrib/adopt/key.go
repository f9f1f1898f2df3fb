package adopt

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

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
		return quoteName(k.schema) + "." + quoteName(k.table)
	}
	return db.Statement.Quote(k.name())
}

// quoteName returns a name in the quotes of standard SQL.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

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

// read returns what one reads about each key, which rejects what must not be changed.
func read[T any](db *gorm.DB, keys []countedKey, one func(k countedKey, db *gorm.DB) (T, error)) ([]T, error) {
	found := make([]T, len(keys))
	return found, each(keys, func(i int, k countedKey) (err error) {
		if found[i], err = one(k, db); err != nil {
			return err
		}
		return k.checkMinID(db)
	})
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
