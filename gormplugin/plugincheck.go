package gormplugin

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// pluginCheck is a field that makes Create fail on a handle without a plugin, instead of storing the key 0. GORM adds
// the clauses of a field's type to each INSERT of the model (schema.CreateClausesInterface). A hook would do as well, but
// would hide that of another embedded struct. It takes no space, and encoding/gob accepts it, unlike an empty struct.
type pluginCheck [0]bool

// GormDataType keeps GORM from taking the field for a relation.
func (pluginCheck) GormDataType() string { return "none" }

// CreateClauses is called by GORM when it parses the model.
func (c pluginCheck) CreateClauses(*schema.Field) []clause.Interface { return []clause.Interface{c} }

// ModifyStatement is called by GORM for each INSERT, after the hooks.
func (pluginCheck) ModifyStatement(stmt *gorm.Statement) {
	if stmt.Plugins[pluginName] != nil {
		return
	}
	key, value := stmt.Schema.PrioritizedPrimaryField, stmt.ReflectValue
	if key == nil || key.FieldType != idType || key.HasDefaultValue || selectionOf(stmt, key) != written {
		return
	}
	if value.Kind() == reflect.Struct && value.Type() == stmt.Schema.ModelType { // the common case
		if _, zero := key.ValueOf(stmt.Context, value); !zero {
			return
		}
	}
	r := &records{plan: &plan{schema: stmt.Schema}, columns: []*column{newColumn(key, signed, true)}}
	if ok, _ := r.of(stmt); !ok {
		return
	}
	if lacking := r.lacking(); lacking[0] > 0 {
		_ = stmt.AddError(fmt.Errorf("gormplugin: no plugin is registered with the handle, and %d of %d %s have the key 0; "+
			"call gormplugin.Open or db.Use(gormplugin.New(gen)) first: %w", lacking[0], r.n, stmt.Schema.Name, gorm.ErrPrimaryKeyRequired))
	}
}

// Name, Build and MergeClause make it a clause, and do nothing.
func (pluginCheck) Name() string { return pluginName }

func (pluginCheck) Build(clause.Builder) {}

func (pluginCheck) MergeClause(*clause.Clause) {}

// hasClauses reports whether a type of the model's fields adds clauses of its own to an INSERT.
func hasClauses(s *schema.Schema) bool {
	for _, c := range s.CreateClauses {
		if _, ok := c.(pluginCheck); !ok {
			return true
		}
	}
	return false
}
