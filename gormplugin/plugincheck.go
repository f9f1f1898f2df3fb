package gormplugin

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/snowflake"
)

// pluginCheck is a field that makes Create fail on a handle without a plugin, instead of storing the key 0. GORM adds
// the clauses of a field's type to each INSERT of the model (schema.CreateClausesInterface). A hook would do as well,
// but would hide the hook of another embedded struct. The field takes no space, and encoding/gob accepts it, unlike an
// empty struct.
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
	key := stmt.Schema.PrioritizedPrimaryField
	if key == nil || key.FieldType != reflect.TypeFor[snowflake.ID]() {
		return
	}
	if key.HasDefaultValue || model.SelectionOf(stmt, key) != model.Written {
		return
	}

	if record := stmt.ReflectValue; record.Kind() == reflect.Struct && record.Type() == stmt.Schema.ModelType {
		if _, zero := key.ValueOf(stmt.Context, record); !zero {
			return // the common case, without an allocation
		}
	}
	if lacking, n := model.WithoutKey(stmt, key); lacking > 0 {
		_ = stmt.AddError(fmt.Errorf("gormplugin: no plugin is registered with the handle, "+
			"and %d of %d %s have the key 0; call gormplugin.Open or db.Use(gormplugin.New(gen)) first: %w",
			lacking, n, stmt.Schema.Name, gorm.ErrPrimaryKeyRequired))
	}
}

// Name, Build and MergeClause make it a clause, and do nothing.
func (pluginCheck) Name() string { return pluginName }

func (pluginCheck) Build(clause.Builder) {}

func (pluginCheck) MergeClause(*clause.Clause) {}
