package gormplugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// AutoMigrate is [DisableAutoIncrement] and then db.AutoMigrate: integer keys that the plugin fills become plain
// columns, without a sequence on PostgreSQL and without AUTO_INCREMENT on MySQL and MariaDB; on SQLite they are the
// rowid, without AUTOINCREMENT. Existing tables keep their counters, since GORM does not compare those: package
// gormplugin/adopt drops them.
func AutoMigrate(db *gorm.DB, models ...any) error {
	if err := DisableAutoIncrement(db, models...); err != nil {
		return err
	}
	return db.AutoMigrate(models...)
}

// DisableAutoIncrement takes auto-increment off the integer keys that the plugin fills, in what GORM knows about the
// models and those related to them. It changes no table. From then on db.AutoMigrate creates plain columns, and Create
// reads no key back. Models are given as for AutoMigrate. For keys of the type [snowflake.ID] it only checks the tags
// and references, and makes their columns NOT NULL on SQLite, where a key that is not the rowid allows NULL.
//
// Call it at the start of the program, after gorm.Open and before anything else uses the handle or one of its sessions:
// it changes what they share, without a lock. Each handle of gorm.Open needs a call of its own.
//
// It returns an error that wraps gorm.ErrInvalidDB for a handle without a [Plugin], GORM's error for a model that it
// cannot parse, [ErrTag], also for a key that [IntegerKeys] should fill but that is too small for an ID, and
// schema.ErrUnsupportedDataType for a foreign key that cannot hold the key it refers to. It checks all models before it
// changes any.
func DisableAutoIncrement(db *gorm.DB, models ...any) error {
	p := of(db)
	if p == nil {
		return fmt.Errorf("gormplugin: the handle has no plugin: %w", gorm.ErrInvalidDB)
	}
	schemas, err := parseAll(db, models)
	if err != nil {
		return err
	}
	plans := make([]*plan, len(schemas))
	var errs []error
	for i, s := range schemas {
		plans[i] = p.planOf(s)
		errs = append(errs, plans[i].err, p.checkSize(s))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, s := range schemas {
		if key := plans[i].key; key != nil {
			clearAutoIncrement(s, key.field)
			if db.Name() == "sqlite" && !isRowid(key.field) {
				key.field.NotNull = true
			}
		}
	}
	return nil
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
	for _, model := range models {
		if _, ok := model.(string); ok { // the name of a table, which AutoMigrate takes
			continue
		}
		names := []string{""}
		if db.Statement.Table != "" { // db.Table(name).AutoMigrate(model) has a schema of its own
			names = append(names, db.Statement.Table)
		}
		for _, name := range names {
			stmt := &gorm.Statement{DB: db}
			if err := stmt.ParseWithSpecialTableName(model, name); err != nil {
				return nil, fmt.Errorf("gormplugin: parse %T: %w", model, err)
			}
			visit(stmt.Schema)
		}
	}
	return found, nil
}

// isRowid reports whether the key is SQLite's rowid, which is never NULL: the only column of the key, of type integer.
func isRowid(key *schema.Field) bool {
	return len(key.Schema.PrimaryFields) == 1 &&
		(key.DataType == schema.Int || key.DataType == schema.Uint || strings.EqualFold(string(key.DataType), "integer"))
}

// checkSize returns an error for an integer key that IntegerKeys is meant for but that cannot hold an ID.
func (c *config) checkSize(s *schema.Schema) error {
	field := s.PrioritizedPrimaryField
	if field == nil || !c.integerKeys || !field.Creatable || field.Serializer != nil || !isInteger(field.FieldType) {
		return nil
	}
	t := tagOf(field)
	if t.out || t.in || t.databaseMakes() || isLargeInteger(field) || isForeignKey(s, field) {
		return nil
	}
	return fmt.Errorf("%w: the key %s.%s of type %s, size %d, is too small for IntegerKeys, which needs 64 bits; "+
		"add autoIncrement:true or snowflake:- to leave it to the database", ErrTag, s.Name, field.Name, field.FieldType, field.Size)
}
