package gormplugin

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils"
)

// plan is what the plugin knows about a model. It is computed once for a handle and never changes. The schema, which
// all users of the handle share, is only read.
type plan struct {
	schema  *schema.Schema
	columns []*column // to fill, the key first; empty if the plugin fills nothing of the model
	key     *column   // the prioritized key, nil if the plugin does not fill it
	err     error     // every Create fails with it
	missed  *column   // the prioritized key that could hold an ID, if neither the plugin nor a tag takes care of it

	plain *column // the only column, if fillPlain can fill it

	badReference error                  // every Create and Update fails with it
	belongsTo    []*schema.Relationship // that refer to a column of the associated model that the plugin fills
	many2Many    []*schema.Relationship // the same
}

func (c *config) planOf(s *schema.Schema) *plan {
	if err := c.badReference(s); err != nil {
		return &plan{schema: s, err: err, badReference: err}
	}
	made := &plan{
		schema:    s,
		belongsTo: slices.DeleteFunc(slices.Clone(s.Relationships.BelongsTo), c.refersToOthers),
		many2Many: slices.DeleteFunc(slices.Clone(s.Relationships.Many2Many), c.refersToOthers),
	}
	for _, field := range s.Fields {
		column, err := c.columnOf(s, field)
		switch {
		case err != nil:
			made.err = err
			return made
		case column == nil:
		case column.isKey:
			made.key = column
			made.columns = slices.Insert(made.columns, 0, column)
		default:
			made.columns = append(made.columns, column)
		}
	}
	if made.key == nil {
		made.missed = missedKey(s)
	}
	if len(made.columns) == 1 {
		if only := made.columns[0]; only.kind == signed && !only.pointer && only.path != nil {
			made.plain = only
		}
	}
	return made
}

// missedKey returns the key of a model, if it is likely that the plugin was meant to fill it: an integer that GORM takes
// for auto-increment, a type defined by a snowflake.ID, or a string.
func missedKey(s *schema.Schema) *column {
	key := s.PrioritizedPrimaryField
	if key == nil || key.DBName == "" || !key.Creatable || key.Serializer != nil || s.ModelType.Name() == "" || isForeignKey(s, key) {
		return nil
	}
	kind, t := kindOfAny(indirect(key.FieldType)), tagOf(key)
	out := strings.TrimSpace(key.TagSettings[tagName]) == tagOptOut // also on an embedded struct, such as gorm.Model
	if kind == notAKey || out || t.databaseMakes() {
		return nil
	}
	return newColumn(key, kind, true)
}

// refersToOthers reports whether rel refers to no column of the associated model that the plugin fills.
func (c *config) refersToOthers(rel *schema.Relationship) bool {
	return !slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool {
		if ref.OwnPrimaryKey || ref.PrimaryKey == nil {
			return false
		}
		column, _ := c.columnOf(rel.FieldSchema, ref.PrimaryKey)
		return column != nil
	})
}

// active returns the columns without those that Omit names: the database makes these.
func (p *plan) active(stmt *gorm.Statement) []*column {
	if len(stmt.Selects) == 0 && len(stmt.Omits) == 0 {
		return p.columns
	}
	return slices.DeleteFunc(slices.Clone(p.columns), func(c *column) bool {
		return selectionOf(stmt, c.field) == omitted
	})
}

// columnOf returns how a field is filled, nil if it is not.
func (c *config) columnOf(s *schema.Schema, field *schema.Field) (*column, error) {
	if shadowing, ok := s.FieldsByDBName[field.DBName]; ok && shadowing != field {
		return nil, nil // a field of an embedded struct; GORM takes the one that is less deeply nested
	}
	t, isKey := tagOf(field), field == s.PrioritizedPrimaryField
	switch {
	case t.out:
		return nil, nil
	case t.in:
		return c.taggedColumn(s, field, t)
	case t.inherited(field):
		return nil, tagError(s, field, "is on an embedded struct; put it on a field of that struct")
	case !isKey, field.DBName == "", !field.Creatable, isForeignKey(s, field):
		return nil, nil
	}
	kind, byDatabase := kindOfKey(indirect(field.FieldType)), field.HasDefaultValue
	if kind == notAKey && c.integerKeys && isLargeInteger(field) {
		kind, byDatabase = kindOfAny(indirect(field.FieldType)), t.databaseMakes()
	}
	switch {
	case kind == notAKey:
		return nil, nil
	case !byDatabase && kind == custom && isSmallInteger(field):
		return nil, smallInteger(s, field)
	case !byDatabase:
		return newColumn(field, kind, isKey), nil
	case isNumeral(field.DefaultValue): // as default:0, by which the first row would get the key 0
		return nil, fmt.Errorf("%w: by default:%s all rows of %s would get the same key %s; remove it",
			ErrTag, field.DefaultValue, s.Name, field.Name)
	}
	return nil, nil
}

func isNumeral(text string) bool {
	_, err := strconv.ParseInt(strings.Trim(text, `'"`), 10, 64)
	return err == nil
}

// isLargeInteger reports whether field is an integer of 64 bits, in Go and as far as GORM knows in the database.
func isLargeInteger(field *schema.Field) bool {
	kind := kindOfAny(indirect(field.FieldType))
	return (kind == signed || kind == unsigned) && field.Serializer == nil && (field.Size == 0 || field.Size >= 64)
}

// isSmallInteger reports whether AutoMigrate of GORM makes an integer of less than 64 bits for the field: a smallint or
// tinyint if GORM knows no size, as for a struct or an array with type:int.
func isSmallInteger(field *schema.Field) bool {
	return (field.DataType == schema.Int || field.DataType == schema.Uint) && field.Size < 64
}

func smallInteger(s *schema.Schema, field *schema.Field) error {
	return fmt.Errorf("%w: type:int of %s.%s needs size:64 beside it; without it GORM makes a small integer for the type %s",
		ErrTag, s.Name, field.Name, field.FieldType)
}

// badReference returns an error if GORM would put a key that the plugin fills into a foreign key of the schema's
// relations that cannot hold it. No database reports that, and the association is never found again.
func (c *config) badReference(s *schema.Schema) error {
	for _, rel := range ownRelations(s) {
		for _, ref := range rel.References {
			from, to := ref.PrimaryKey, ref.ForeignKey
			if from == nil || to == nil || to.Serializer != nil || canHold(to.FieldType, from.FieldType) {
				continue
			}
			if column, _ := c.columnOf(from.Schema, from); column == nil && !isKeyType(from.FieldType) {
				continue
			}
			remedy := "snowflake.ID or a uint64"
			if !holdsNumbers(from.FieldType) {
				remedy = indirect(from.FieldType).String()
			}
			return fmt.Errorf("gormplugin: %s.%s of type %s cannot hold the key %s.%s of type %s that it refers to in %s.%s; "+
				"make it a %s: %w", to.Schema.Name, to.Name, to.FieldType,
				from.Schema.Name, from.Name, from.FieldType, s.Name, rel.Name, remedy, schema.ErrUnsupportedDataType)
		}
	}
	return nil
}

// canHold reports whether a foreign key of type to keeps the keys of type from. GORM converts between Go types there: a
// snowflake.ID becomes a string of one character, loses its high bits in an int32, and has another form in the database
// if it becomes a sqltypes.Text.
func canHold(to, from reflect.Type) bool {
	to, from = indirect(to), indirect(from)
	switch kind := to.Kind(); {
	case kind == reflect.Float32, kind == reflect.Float64, isInteger(to) && to.Bits() < 64:
		return false
	case kind == reflect.String:
		return !isInteger(from) || from.PkgPath() == "" // of the integers GORM writes int64 and the like as digits
	case !isInteger(to) && !isKeyType(to) && !holdsNumbers(to):
		return true // a type of its own, such as sql.NullString
	case holdsNumbers(to):
		return holdsNumbers(from) || from.Kind() == reflect.String // of digits, which GORM parses
	}
	return to == from
}

// tag is what the field's own tag says: `gorm:"snowflake"`, `gorm:"snowflake:name"` or `gorm:"snowflake:-"`. The
// settings that GORM has parsed do not tell, since GORM copies those of an embedded struct into each of its fields.
type tag struct {
	in, out   bool
	name      string            // of a generator
	settings  map[string]string // all settings of the field's own tag
	malformed bool              // snowflake: without a name
}

// maxDigits is the length of the largest ID as text.
const maxDigits = 19

func tagOf(field *schema.Field) tag {
	t := tag{settings: schema.ParseTagSetting(field.StructField.Tag.Get("gorm"), ";")}
	value, ok := t.settings[tagName]
	switch value = strings.TrimSpace(value); {
	case !ok:
	case value == tagOptOut:
		t.out = true
	case value == tagName:
		t.in = true
	default:
		t.in, t.name, t.malformed = true, value, value == ""
	}
	return t
}

// databaseMakes reports whether the field's own tag leaves it to the database.
func (t tag) databaseMakes() bool {
	_, hasDefault := t.settings["DEFAULT"]
	return hasDefault || utils.CheckTruth(t.settings["AUTOINCREMENT"])
}

// inherited reports whether GORM has copied a snowflake tag to the field from an embedded struct around it.
func (t tag) inherited(field *schema.Field) bool {
	value, ok := field.TagSettings[tagName]
	return ok && strings.TrimSpace(value) != tagOptOut && len(field.StructField.Index) > 1
}

// taggedColumn returns how a field with a tag is filled, or why it cannot be.
func (c *config) taggedColumn(s *schema.Schema, field *schema.Field, t tag) (*column, error) {
	kind := kindOfAny(indirect(field.FieldType))
	switch {
	case t.malformed:
		return nil, tagError(s, field, "has an empty name")
	case t.name != "" && c.named[t.name] == nil:
		return nil, tagError(s, field, "names the generator %q, which no WithNamed has added", t.name)
	case kind == notAKey || field.Serializer != nil:
		return nil, tagError(s, field, "needs snowflake.ID, int64, uint64, string or a type with the methods of Key, "+
			"without a serializer, and the type is %s", field.FieldType)
	case field.DBName == "" || !field.Creatable:
		return nil, tagError(s, field, "is on a field that GORM does not write when it creates a row")
	case t.databaseMakes():
		return nil, tagError(s, field, "is beside default or autoIncrement, by which the database makes the value")
	case kind == text && field.Size > 0 && field.Size < maxDigits:
		return nil, tagError(s, field, "needs a string of size %d, and the size is %d", maxDigits, field.Size)
	case kind == custom && isSmallInteger(field):
		return nil, smallInteger(s, field)
	case kind != text && kind != custom && field.Size > 0 && field.Size < 64:
		return nil, tagError(s, field, "needs an integer of size 64, and the size is %d", field.Size)
	}
	if isForeignKey(s, field) {
		if s.ModelType.Name() == "" { // a join table, to which GORM has copied the tags of the keys
			return nil, nil
		}
		return nil, tagError(s, field, "is on the foreign key of a belongs-to relation, which is the key of another row")
	}
	column := newColumn(field, kind, field == s.PrioritizedPrimaryField)
	column.gen = c.named[t.name]
	return column, nil
}

func tagError(s *schema.Schema, field *schema.Field, format string, args ...any) error {
	return fmt.Errorf("%w: the snowflake tag of %s.%s "+format, append([]any{ErrTag, s.Name, field.Name}, args...)...)
}
