package gormplugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
)

// DisableAutoIncrement takes auto-increment off the integer keys that the plugin fills, in what GORM knows about the
// models and those related to them. Call it before db.AutoMigrate, which then creates plain columns: without a sequence
// on PostgreSQL, AUTO_INCREMENT on MySQL and MariaDB, or AUTOINCREMENT on SQLite, where the key is the rowid. Create
// reads no key back. It changes no table: package contrib/adopt drops the counters of existing ones. For keys of the
// type [snowflake.ID] it only checks the tags and references, and makes their columns NOT NULL on SQLite, where a key
// that is not the rowid allows NULL.
//
// Call it at the start of the program, once for each handle of gorm.Open and before anything else uses the handle or
// its sessions: it changes what they share, without a lock. Models are given as for AutoMigrate.
//
// It returns an error that wraps gorm.ErrInvalidDB for a handle without a [Plugin], GORM's error for a model that it
// cannot parse, [ErrTag], including for a key that [WithIntegerKeys] should fill but that is too small for an ID, and
// schema.ErrUnsupportedDataType for a foreign key that cannot hold the key it refers to. It checks all models before it
// changes any.
func DisableAutoIncrement(db *gorm.DB, models ...any) error {
	p := of(db)
	if p == nil {
		return fmt.Errorf("gormplugin: DisableAutoIncrement: the handle has no plugin, call db.Use first: %w",
			gorm.ErrInvalidDB)
	}
	schemas, err := parseAll(db, models)
	if err != nil {
		return err
	}

	plans := make([]*model.Plan, len(schemas))
	var errs []error
	for i, s := range schemas {
		plans[i] = p.rules.NewPlan(s)
		errs = append(errs, plans[i].Err, p.rules.CheckSize(s))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}

	for i, s := range schemas {
		if plans[i].Key == nil {
			continue
		}

		// Undo what schema.Parse does at its end to an integer key without the tag autoIncrement.
		key := plans[i].Key.Field
		key.AutoIncrement, key.HasDefaultValue = false, false
		isKey := func(field *schema.Field) bool { return field == key }
		s.FieldsWithDefaultDBValue = slices.DeleteFunc(s.FieldsWithDefaultDBValue, isKey)

		if db.Name() == "sqlite" && !isRowID(key) {
			key.NotNull = true
		}
	}
	return nil
}

// isRowID reports whether a key is SQLite's rowid, which is never NULL: the only column of the key, of type integer.
func isRowID(key *schema.Field) bool {
	if len(key.Schema.PrimaryFields) != 1 {
		return false
	}
	isInteger := key.DataType == schema.Int || key.DataType == schema.Uint
	return isInteger || strings.EqualFold(string(key.DataType), "integer")
}

// parseAll returns what GORM knows about the models and about all that their relations lead to, whose tables
// AutoMigrate creates as well.
func parseAll(db *gorm.DB, models []any) ([]*schema.Schema, error) {
	var found []*schema.Schema
	var visit func(s *schema.Schema)
	visit = func(s *schema.Schema) {
		if s == nil || slices.Contains(found, s) {
			return
		}
		found = append(found, s)
		for _, rel := range s.Relationships.Relations {
			visit(rel.FieldSchema)
			visit(rel.JoinTable)
		}
	}

	for _, record := range models {
		if _, ok := record.(string); ok { // the name of a table, which AutoMigrate takes
			continue
		}

		for _, name := range []string{"", db.Statement.Table} { // db.Table(name).AutoMigrate(model) has another schema
			stmt := &gorm.Statement{DB: db}
			if err := stmt.ParseWithSpecialTableName(record, name); err != nil {
				return nil, fmt.Errorf("gormplugin: parse %T: %w", record, err)
			}
			visit(stmt.Schema)
		}
	}
	return found, nil
}
