package gormplugin

import (
	"fmt"
	"reflect"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Model is like gorm.Model, with a key that the application makes and without soft deletion, for embedding:
//
//	type User struct {
//		gormplugin.Model
//		Name string
//	}
//
// The key's tag `gorm:"primaryKey;type:int"` works on any field of type [snowflake.ID]: the column is integer on
// SQLite, where it is the rowid itself, and bigint on PostgreSQL, MySQL and MariaDB, without a sequence or
// AUTO_INCREMENT. Without it the column is bigint everywhere. On SQLite that makes a second B-tree
// (https://www.sqlite.org/lang_createtable.html#rowid).
//
// In JSON the key is a string, since JavaScript numbers are exact to 2^53-1 only.
type Model struct {
	ID snowflake.ID `gorm:"primaryKey;type:int" json:"id"`

	// PluginCheck holds nothing. It makes Create return gorm.ErrPrimaryKeyRequired for a key that is 0 on a handle
	// without a plugin, except after Unscoped.
	PluginCheck pluginCheck `gorm:"-;<-" json:"-" yaml:"-"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// ModelSoftDelete is [Model] with the soft deletion of gorm.Model: Delete sets DeletedAt, and queries skip such rows
// unless they are Unscoped. In JSON deleted_at is left out while the row lives.
type ModelSoftDelete struct {
	Model
	DeletedAt gorm.DeletedAt `gorm:"index" json:"deleted_at,omitzero"`
}

// Key is implemented by pointers to key types other than [snowflake.ID], which the plugin fills as well: for example a
// type for each model that wraps an ID. For GORM the type also needs Scan, Value and a GormDataType, such as "bigint";
// a struct that embeds a snowflake.ID has all three. A struct and an array, such as publicid.ID, need `size:64` and
// `type:int`, since GORM takes a column's size from the kind of its field; else Create fails.
type Key interface {
	// SnowflakeID returns the ID, 0 if there is none yet.
	SnowflakeID() snowflake.ID
	// SetSnowflakeID replaces the ID.
	SetSnowflakeID(id snowflake.ID)
}

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
