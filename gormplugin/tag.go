package gormplugin

import (
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils"
)

const (
	tagName   = "SNOWFLAKE" // as GORM writes the names of settings, and the value of one that has none
	tagOptOut = "-"
)

// tag is what the field's own tag says: `gorm:"snowflake"`, `gorm:"snowflake:name"` or `gorm:"snowflake:-"`. The settings
// that GORM has parsed cannot tell: it copies those of an embedded struct into each of its fields.
type tag struct {
	in, out   bool
	name      string            // of a generator
	settings  map[string]string // all settings of the field's own tag
	malformed bool              // snowflake: without a name
}

// digits is how many the largest ID has.
const digits = 19

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

// inherited reports whether a tag that asks for IDs is not the field's own but that of an embedded struct around it.
func (t tag) inherited(field *schema.Field) bool {
	value, ok := field.TagSettings[tagName]
	return ok && strings.TrimSpace(value) != tagOptOut && len(field.StructField.Index) > 1
}

// taggedColumn returns how a field with a tag is filled, or why it cannot be.
func (p *Plugin) taggedColumn(s *schema.Schema, field *schema.Field, t tag) (*column, error) {
	elem := indirect(field.FieldType)
	kind := kindOfAny(elem)
	switch {
	case t.malformed:
		return nil, tagError(s, field, "has an empty name")
	case t.name != "" && p.named[t.name] == nil:
		return nil, tagError(s, field, "names the generator %q, which WithNamed has not given", t.name)
	case kind == notAKey || field.Serializer != nil:
		return nil, tagError(s, field, "needs snowflake.ID, int64, uint64, string or a type with the methods of Key, "+
			"without a serializer, and the type is %s", field.FieldType)
	case field.DBName == "" || !field.Creatable:
		return nil, tagError(s, field, "is on a field that GORM does not write when it creates a row")
	case t.databaseMakes():
		return nil, tagError(s, field, "is beside default or autoIncrement, by which the database makes the value")
	case kind == text && field.Size > 0 && field.Size < digits:
		return nil, tagError(s, field, "needs a string of size %d, and the size is %d", digits, field.Size)
	case kind != text && kind != custom && field.Size > 0 && field.Size < 64:
		return nil, tagError(s, field, "needs an integer of size 64, and the size is %d", field.Size)
	}
	if isReference(s, field) {
		if s.ModelType.Name() == "" { // a join table, to which GORM has copied the tags of the keys
			return nil, nil
		}
		return nil, tagError(s, field, "is on the foreign key of a belongs-to relation, which is the key of another row")
	}
	c := newColumn(field, kind, field == s.PrioritizedPrimaryField)
	c.gen = p.named[t.name]
	return c, nil
}

func tagError(s *schema.Schema, field *schema.Field, format string, args ...any) error {
	return fmt.Errorf("%w: that of %s.%s "+format, append([]any{ErrTag, s.Name, field.Name}, args...)...)
}

// indirect returns what a pointer type points to, and other types as they are.
func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
