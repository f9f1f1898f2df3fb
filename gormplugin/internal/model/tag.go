package model

import (
	"fmt"
	"strings"

	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils"
)

// Words of a tag.
const (
	TagName   = "SNOWFLAKE" // as GORM writes the names of settings, and the value of one that has none
	TagOptOut = "-"
)

// maxDigits is the length of the largest ID as text.
const maxDigits = 19

// tag is what the field's own tag says: `gorm:"snowflake"`, `gorm:"snowflake:name"` or `gorm:"snowflake:-"`. GORM's
// parsed settings cannot tell: GORM copies those of an embedded struct into each of its fields.
type tag struct {
	in, out   bool
	name      string            // of a generator
	settings  map[string]string // all settings of the field's own tag
	malformed bool              // snowflake: without a name
}

func tagOf(field *schema.Field) tag {
	t := tag{settings: schema.ParseTagSetting(field.StructField.Tag.Get("gorm"), ";")}
	value, ok := t.settings[TagName]
	switch value = strings.TrimSpace(value); {
	case !ok:
	case value == TagOptOut:
		t.out = true
	case value == TagName:
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
	value, ok := field.TagSettings[TagName]
	return ok && strings.TrimSpace(value) != TagOptOut && len(field.StructField.Index) > 1
}

// taggedColumn returns how a field with a tag is filled, or why it cannot be.
func (r *Rules) taggedColumn(field *schema.Field, t tag) (*Column, error) {
	k := kindOfAny(indirect(field.FieldType))
	switch {
	case t.malformed:
		return nil, tagError(field, "has an empty name")
	case t.name != "" && r.Named[t.name] == nil:
		return nil, tagError(field, "names the generator %q, which no WithNamed has added", t.name)
	case k == notAKey || field.Serializer != nil:
		return nil, tagError(field, "needs snowflake.ID, int64, uint64, string or a type with the methods of Key, "+
			"without a serializer, and the type is %s", field.FieldType)
	case field.DBName == "" || !field.Creatable:
		return nil, tagError(field, "is on a field that GORM does not write when it creates a row")
	case t.databaseMakes():
		return nil, tagError(field, "is beside default or autoIncrement, by which the database makes the value")
	case k == text && field.Size > 0 && field.Size < maxDigits:
		return nil, tagError(field, "needs a string of size %d, and the size is %d", maxDigits, field.Size)
	case k == custom && isSmallInteger(field):
		return nil, smallInteger(field)
	case k != text && k != custom && field.Size > 0 && field.Size < 64:
		return nil, tagError(field, "needs an integer of size 64, and the size is %d", field.Size)
	}
	if isForeignKey(field) {
		if field.Schema.ModelType.Name() == "" { // a join table, to which GORM has copied the tags of the keys
			return nil, nil
		}
		return nil, tagError(field, "is on the foreign key of a belongs-to relation, which is the key of another row")
	}
	column := newColumn(field, k, field == field.Schema.PrioritizedPrimaryField)
	column.Gen = r.Named[t.name]
	return column, nil
}

func tagError(field *schema.Field, format string, args ...any) error {
	return fmt.Errorf("%w: the snowflake tag of %s.%s "+format, append([]any{ErrTag, field.Schema.Name, field.Name}, args...)...)
}
