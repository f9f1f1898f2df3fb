package gormplugin

import (
	"time"

	"gorm.io/gorm"

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
	//
	// With the tag "-" alone, each Create would make a map of unwritten fields.
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
