// Package model decides which fields of a GORM model the plugin fills, and reads and writes them in records of any
// shape: structs, slices, arrays, pointers and maps.
package model

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils"

	"github.com/sqlflake/sqlflake/snowflake"
)

// ErrTag is gormplugin.ErrTag.
var ErrTag = errors.New("gormplugin: invalid tag")

// Rules are the options that decide what is filled.
type Rules struct {
	IntegerKeys bool
	Default     Generator
	Named       map[string]Generator // by the name in the tag
}

// Plan is what the plugin knows about a model. It is computed once for a handle and never changes. The schema, which
// all users of the handle share, is only read.
type Plan struct {
	Schema  *schema.Schema
	Columns []*Column // to fill, the key first; empty if the plugin fills nothing of the model
	Batches int       // how many generators the columns have
	Key     *Column   // the prioritized key, nil if the plugin does not fill it
	Err     error     // every Create fails with it
	Missed  *Column   // the prioritized key that could hold an ID, if neither the plugin nor a tag takes care of it

	BadReference error                  // every Create and Update fails with it
	BelongsTo    []*schema.Relationship // that refer to a column of the associated model that the plugin fills
	Many2Many    []*schema.Relationship // the same
}

// NewPlan returns the plan of a model.
func (r *Rules) NewPlan(s *schema.Schema) *Plan {
	if err := r.badReference(s); err != nil {
		return &Plan{Schema: s, Err: err, BadReference: err}
	}

	p := &Plan{
		Schema:    s,
		BelongsTo: slices.DeleteFunc(slices.Clone(s.Relationships.BelongsTo), r.refersToOthers),
		Many2Many: slices.DeleteFunc(slices.Clone(s.Relationships.Many2Many), r.refersToOthers),
	}

	for _, field := range s.Fields {
		column, err := r.ColumnOf(field)
		if err != nil {
			p.Err = err
			return p
		}
		if column == nil {
			continue
		}

		if column.IsKey {
			p.Key = column
			p.Columns = slices.Insert(p.Columns, 0, column)
		} else {
			p.Columns = append(p.Columns, column)
		}
	}

	p.Batches = numberBatches(p.Columns)
	if p.Key == nil {
		p.Missed = missedKey(s)
	}
	return p
}

// numberBatches gives columns that share a generator the same number, and returns how many numbers there are.
func numberBatches(columns []*Column) (batches int) {
	for j, c := range columns {
		hasSame := func(other *Column) bool { return isSame(other.Gen, c.Gen) }
		if first := slices.IndexFunc(columns[:j], hasSame); first >= 0 {
			c.Batch = columns[first].Batch
			continue
		}
		c.Batch = batches
		batches++
	}
	return batches
}

// isSame reports whether two generators are one. Generators that Go cannot compare, such as functions, never are.
func isSame(a, b Generator) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// missedKey returns the key of a model if the plugin was probably meant to fill it.
func missedKey(s *schema.Schema) *Column {
	key := s.PrioritizedPrimaryField
	isJoinTable := s.ModelType.Name() == ""
	if key == nil || isJoinTable {
		return nil
	}
	if !isWritten(key) || key.Serializer != nil {
		return nil
	}
	if isForeignKey(key) {
		return nil
	}

	// The tag may be on an embedded struct, such as gorm.Model.
	isOptedOut := strings.TrimSpace(key.TagSettings[TagName]) == TagOptOut
	if isOptedOut || tagOf(key).databaseMakes() {
		return nil
	}

	k := kindOfAny(indirect(key.FieldType))
	if k == notAKey {
		return nil
	}
	return newColumn(key, k, true, nil)
}

// isWritten reports whether GORM writes the field when it creates a row.
func isWritten(field *schema.Field) bool {
	return field.DBName != "" && field.Creatable
}

// ColumnOf returns how a field is filled, nil if it is not.
func (r *Rules) ColumnOf(field *schema.Field) (*Column, error) {
	s := field.Schema
	if shadowing, ok := s.FieldsByDBName[field.DBName]; ok && shadowing != field {
		return nil, nil // a field of an embedded struct; GORM takes the one that is less deeply nested
	}

	t, isKey := tagOf(field), field == s.PrioritizedPrimaryField
	switch {
	case t.out:
		return nil, nil
	case t.in:
		return r.taggedColumn(field, t)
	case t.inherited(field):
		return nil, tagError(field, "is on an embedded struct; put it on a field of that struct")
	case !isKey, !isWritten(field), isForeignKey(field):
		return nil, nil
	}

	k, byDatabase := kindOfKey(indirect(field.FieldType)), field.HasDefaultValue
	if fillsIntegers := r.IntegerKeys && isLargeInteger(field); k == notAKey && fillsIntegers {
		k, byDatabase = kindOfAny(indirect(field.FieldType)), t.databaseMakes()
	}

	switch {
	case k == notAKey:
		return nil, nil
	case !byDatabase:
		return newCheckedColumn(field, k, isKey, r.Default)
	}

	if _, err := strconv.ParseInt(strings.Trim(field.DefaultValue, `'"`), 10, 64); err == nil {
		return nil, fmt.Errorf("%w: by default:%s all rows of %s would get the same key %s; remove it",
			ErrTag, field.DefaultValue, s.Name, field.Name)
	}
	return nil, nil
}

// isLargeInteger reports whether field is an integer of 64 bits, in Go and as far as GORM knows in the database.
func isLargeInteger(field *schema.Field) bool {
	k := kindOfAny(indirect(field.FieldType))
	isInteger := k == signed || k == unsigned
	return isInteger && field.Serializer == nil && !isShort(field)
}

// isShort reports whether the tag of a field asks for a column of less than 64 bits.
func isShort(field *schema.Field) bool {
	return 0 < field.Size && field.Size < 64
}

// newCheckedColumn returns an error if GORM's AutoMigrate makes an integer of less than 64 bits for the field: a
// smallint or tinyint if GORM knows no size, as for a struct or an array with type:int.
func newCheckedColumn(field *schema.Field, k kind, isKey bool, gen Generator) (*Column, error) {
	isInteger := field.DataType == schema.Int || field.DataType == schema.Uint
	if small := isInteger && field.Size < 64; k == custom && small {
		return nil, fmt.Errorf("%w: type:int of %s.%s needs size:64 beside it; "+
			"without it GORM makes a small integer for the type %s",
			ErrTag, field.Schema.Name, field.Name, field.FieldType)
	}
	return newColumn(field, k, isKey, gen), nil
}

func newColumn(field *schema.Field, k kind, isKey bool, gen Generator) *Column {
	c := &Column{Field: field, kind: k, IsKey: isKey, Gen: gen, elem: field.FieldType, path: field.StructField.Index}
	if c.elem.Kind() == reflect.Pointer {
		c.Pointer, c.elem = true, c.elem.Elem()
	}
	return c
}

// CheckSize returns an error for an integer key that IntegerKeys is meant for but that cannot hold an ID.
func (r *Rules) CheckSize(s *schema.Schema) error {
	field := s.PrioritizedPrimaryField
	if field == nil || !r.IntegerKeys {
		return nil
	}
	if !field.Creatable || field.Serializer != nil {
		return nil
	}
	if !IsInteger(field.FieldType) || isLargeInteger(field) {
		return nil
	}

	t := tagOf(field)
	isTagged := t.out || t.in
	isFilledElsewhere := t.databaseMakes() || isForeignKey(field)
	if isTagged || isFilledElsewhere {
		return nil
	}
	return fmt.Errorf("%w: the key %s.%s of type %s, size %d, is too small for WithIntegerKeys, which needs 64 bits; "+
		"add autoIncrement:true or snowflake:- to leave it to the database",
		ErrTag, s.Name, field.Name, field.FieldType, field.Size)
}

// Words of a tag. Names of generators stand behind tagNamed, so that a new word takes none of them.
const (
	TagName   = "SNOWFLAKE" // as GORM writes the names of settings, and the value of one that has none
	TagOptOut = "-"
	tagNamed  = "gen="
)

// maxDigits is the length of the largest ID as text.
const maxDigits = 19

// tag is what the field's own tag says: `gorm:"snowflake"`, `gorm:"snowflake:gen=name"` or `gorm:"snowflake:-"`. GORM's
// parsed settings cannot tell, since GORM copies the settings of an embedded struct into each of its fields.
type tag struct {
	in, out  bool
	word     string            // behind the colon, TagName if there is none
	settings map[string]string // all settings of the field's own tag
}

func tagOf(field *schema.Field) tag {
	settings := schema.ParseTagSetting(field.StructField.Tag.Get("gorm"), ";")
	word, has := settings[TagName]
	word = strings.TrimSpace(word)
	return tag{in: has && word != TagOptOut, out: has && word == TagOptOut, word: word, settings: settings}
}

// generator returns the generator that the tag of a field names.
func (r *Rules) generator(field *schema.Field, t tag) (Generator, error) {
	if t.word == TagName {
		return r.Default, nil
	}

	name, named := strings.CutPrefix(t.word, tagNamed)
	switch gen := r.Named[name]; {
	case !named:
		return nil, tagError(field, "says %q; a generator of WithNamed is written snowflake:%s%s", t.word, tagNamed,
			cmp.Or(t.word, "name"))
	case name == "":
		return nil, tagError(field, "has an empty name")
	case gen == nil:
		return nil, tagError(field, "names the generator %q, which no WithNamed has added", name)
	default:
		return gen, nil
	}
}

// databaseMakes reports whether the field's own tag leaves it to the database.
func (t tag) databaseMakes() bool {
	_, hasDefault := t.settings["DEFAULT"]
	return hasDefault || utils.CheckTruth(t.settings["AUTOINCREMENT"])
}

// inherited reports whether GORM has copied a snowflake tag to the field from an embedded struct around it.
func (t tag) inherited(field *schema.Field) bool {
	isEmbedded := len(field.StructField.Index) > 1
	value, ok := field.TagSettings[TagName]
	return isEmbedded && ok && strings.TrimSpace(value) != TagOptOut
}

// taggedColumn returns how a field with a tag is filled, or why it cannot be.
func (r *Rules) taggedColumn(field *schema.Field, t tag) (*Column, error) {
	gen, err := r.generator(field, t)
	if err != nil {
		return nil, err
	}

	k := kindOfAny(indirect(field.FieldType))
	isInteger := k == signed || k == unsigned
	isTruncating := 0 < field.Size && field.Size < maxDigits
	switch {
	case k == notAKey || field.Serializer != nil:
		return nil, tagError(field, "needs snowflake.ID, int64, uint64, string or a type with the methods of Key, "+
			"without a serializer, and the type is %s", field.FieldType)
	case !isWritten(field):
		return nil, tagError(field, "is on a field that GORM does not write when it creates a row")
	case t.databaseMakes():
		return nil, tagError(field, "is beside default or autoIncrement, by which the database makes the value")
	case k == text && isTruncating:
		return nil, tagError(field, "needs a string of size %d, and the size is %d", maxDigits, field.Size)
	case isInteger && isShort(field):
		return nil, tagError(field, "needs an integer of size 64, and the size is %d", field.Size)
	}

	if isForeignKey(field) {
		if field.Schema.ModelType.Name() == "" { // a join table, to which GORM has copied the tags of the keys
			return nil, nil
		}
		return nil, tagError(field, "is on the foreign key of a belongs-to relation, which is the key of another row")
	}

	return newCheckedColumn(field, k, field == field.Schema.PrioritizedPrimaryField, gen)
}

func tagError(field *schema.Field, format string, args ...any) error {
	place := []any{ErrTag, field.Schema.Name, field.Name}
	return fmt.Errorf("%w: the snowflake tag of %s.%s "+format, append(place, args...)...)
}

// ownRelations returns the relations that a model declares, sorted by their names. Models that have this one in a
// has-many relation add relations to it whose names begin with "_", and may be writing to those at this moment
// (schema.Schema.guessRelation, parseRelation).
func ownRelations(s *schema.Schema) []*schema.Relationship {
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()

	var own []*schema.Relationship
	for name, rel := range s.Relationships.Relations {
		if !strings.HasPrefix(name, "_") {
			own = append(own, rel)
		}
	}

	slices.SortFunc(own, func(a, b *schema.Relationship) int { return strings.Compare(a.Name, b.Name) })
	return own
}

// isForeignKey reports whether the field is the foreign key of a belongs-to relation, or half of a join table. It holds
// the key of another row, which GORM sets when it saves the association.
func isForeignKey(field *schema.Field) bool {
	return slices.ContainsFunc(ownRelations(field.Schema), func(rel *schema.Relationship) bool {
		return rel.Type == schema.BelongsTo && slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool {
			return !ref.OwnPrimaryKey && ref.ForeignKey == field
		})
	})
}

// refersToOthers reports whether rel refers to no column of the associated model that the plugin fills.
func (r *Rules) refersToOthers(rel *schema.Relationship) bool {
	return !slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool {
		if ref.OwnPrimaryKey || ref.PrimaryKey == nil {
			return false
		}
		column, _ := r.ColumnOf(ref.PrimaryKey)
		return column != nil
	})
}

// badReference returns an error if GORM would put a key that the plugin fills into a foreign key of the schema's
// relations that cannot hold it. No database reports that, and the association is never found again.
func (r *Rules) badReference(s *schema.Schema) error {
	for _, rel := range ownRelations(s) {
		for _, ref := range rel.References {
			from, to := ref.PrimaryKey, ref.ForeignKey
			if from == nil || to == nil {
				continue
			}
			if to.Serializer != nil || canHold(to.FieldType, from.FieldType) {
				continue
			}
			if column, _ := r.ColumnOf(from); column == nil && !IsKeyType(from.FieldType) {
				continue
			}

			remedy := "snowflake.ID or a uint64"
			if !holdsNumbers(from.FieldType) {
				remedy = indirect(from.FieldType).String()
			}
			return fmt.Errorf("gormplugin: %s.%s of type %s cannot hold the key %s.%s of type %s "+
				"that it refers to in %s.%s; make it a %s: %w", to.Schema.Name, to.Name, to.FieldType,
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
	isIDType := IsInteger(to) || IsKeyType(to)

	switch kind := to.Kind(); {
	case kind == reflect.Float32, kind == reflect.Float64, IsInteger(to) && to.Bits() < 64:
		return false
	case kind == reflect.String:
		return !IsInteger(from) || from.PkgPath() == "" // of the integers GORM writes int64 and the like as digits
	case !isIDType && !holdsNumbers(to):
		return true // another type, such as sql.NullString
	case holdsNumbers(to):
		return holdsNumbers(from) || from.Kind() == reflect.String // of digits, which GORM parses
	}
	return to == from
}

var (
	idType  = reflect.TypeFor[snowflake.ID]()
	keyType = reflect.TypeFor[Key]()
)

// kindOfKey returns the kind of a type that is made for IDs, notAKey for other types.
func kindOfKey(t reflect.Type) kind {
	switch {
	case t == idType:
		return signed
	case reflect.PointerTo(t).Implements(keyType):
		return custom
	}
	return notAKey
}

// kindOfAny returns the kind of any type that can hold an ID. A field of such a type is filled if its tag asks for it.
func kindOfAny(t reflect.Type) kind {
	if k := kindOfKey(t); k != notAKey {
		return k
	}

	switch kind := t.Kind(); {
	case kind == reflect.String:
		return text
	case kind == reflect.Pointer, !IsInteger(t), t.Bits() < 64:
		return notAKey
	case kind < reflect.Uint:
		return signed
	}
	return unsigned
}

// indirect returns the element of a pointer type, and any other type unchanged.
func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// IsNumber reports whether the field's column holds numbers, and so sorts as its IDs do.
func IsNumber(field *schema.Field) bool {
	isText := isTextType(field.GORMDataType) || isTextType(field.DataType)
	if field.Serializer != nil || isText {
		return false
	}
	if field.GORMDataType == "bigint" { // sqltypes.Null
		return true
	}
	return IsKeyType(field.FieldType) || IsInteger(field.FieldType)
}

// holdsNumbers reports whether the type t, or what it points to, gives the database numbers. The field of a foreign key
// cannot tell: GORM copies the database type of the key that it refers to.
func holdsNumbers(t reflect.Type) bool {
	t = indirect(t)
	if typed, ok := reflect.TypeAssert[schema.GormDataTypeInterface](reflect.New(t)); ok {
		return !isTextType(schema.DataType(typed.GormDataType()))
	}
	return IsInteger(t) || IsKeyType(t)
}

// isTextType reports whether a column of the type sorts by its characters or bytes.
func isTextType(dataType schema.DataType) bool {
	name := strings.ToLower(string(dataType))
	for _, word := range [...]string{"char", "text", "clob", "string", "byte", "binary", "blob", "uuid"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// IsKeyType reports whether t, or what it points to, is made for IDs.
func IsKeyType(t reflect.Type) bool { return kindOfKey(indirect(t)) != notAKey }

// IsInteger reports whether t is an integer or a pointer to one.
func IsInteger(t reflect.Type) bool {
	k := indirect(t).Kind()
	return reflect.Int <= k && k <= reflect.Uint64
}
