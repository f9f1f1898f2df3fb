package model

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm/schema"
)

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
			if from == nil || to == nil || to.Serializer != nil || canHold(to.FieldType, from.FieldType) {
				continue
			}
			if column, _ := r.ColumnOf(from); column == nil && !IsKeyType(from.FieldType) {
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
	case kind == reflect.Float32, kind == reflect.Float64, IsInteger(to) && to.Bits() < 64:
		return false
	case kind == reflect.String:
		return !IsInteger(from) || from.PkgPath() == "" // of the integers GORM writes int64 and the like as digits
	case !IsInteger(to) && !IsKeyType(to) && !holdsNumbers(to):
		return true // another type, such as sql.NullString
	case holdsNumbers(to):
		return holdsNumbers(from) || from.Kind() == reflect.String // of digits, which GORM parses
	}
	return to == from
}
