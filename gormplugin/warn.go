package gormplugin

import (
	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// warn says once for each model that GORM takes a key for auto-increment that the plugin fills.
func (h *handle) warn(stmt *gorm.Statement, key *schema.Field) {
	if _, again := h.warned.Load(stmt.Schema.ModelType); again {
		return
	}
	if _, again := h.warned.LoadOrStore(stmt.Schema.ModelType, true); again {
		return
	}
	stmt.Logger.Warn(stmt.Context, "gormplugin: GORM takes the key %s of %s (column %s) for auto-increment, "+
		"and the plugin fills it. Rows that others insert get numbers of the database, which may collide with IDs. "+
		"Call gormplugin.Prepare or gormplugin.AutoMigrate at the start, or add autoIncrement:false to its tag.",
		key.Name, stmt.Schema.Name, key.DBName)
}
