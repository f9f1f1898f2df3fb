package gormplugin

import (
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/gormplugin/internal/upsert"
	"github.com/sqlflake/sqlflake/snowflake"
)

// dryRun is a Create that writes nothing, and all that GORM does for its associations. The text shows the IDs, and the
// records lose them again at the end, together with the references: a later Save has to create the records.
type dryRun struct {
	stmt *gorm.Statement
	all  []*gorm.Statement // of the associations, and stmt itself
	ids  map[snowflake.ID]bool
}

// dryRunKey is the key of a dryRun in the settings of a statement. GORM copies the settings to the statements of
// associations.
type dryRunKey struct{}

// endDryRun is called at the end of a Create, also of an association. in is nil if no record got an ID.
func (c *callbacks) endDryRun(stmt *gorm.Statement, in *upsert.Insert) {
	found, _ := stmt.Settings.Load(dryRunKey{})
	d, begun := found.(*dryRun)
	if !begun || stmt.Schema == nil {
		return
	}

	d.all = append(d.all, stmt)
	if in != nil {
		for _, id := range in.IDs {
			d.ids[id] = id != 0
		}
	}

	if d.stmt != stmt {
		return
	}

	stmt.Settings.Delete(dryRunKey{})
	for _, stmt := range d.all {
		if r, err := model.RecordsOf(stmt, nil); err == nil {
			_ = stmt.AddError(r.ClearAll(d.ids))
		}
	}
}
