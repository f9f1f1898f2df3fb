package gormplugin

import (
	"maps"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// dryRun is a Create that writes nothing, and all that GORM does for its associations. The text shows the IDs, and the
// records lose them again at the end, together with the references: a later Save has to create the records.
type dryRun struct {
	stmt  *gorm.Statement
	all   []*gorm.Statement // those of the associations, and stmt
	given map[snowflake.ID]bool
}

// dryRunKey is the key of a dryRun among the settings of a statement.
type dryRunKey struct{}

// beginDryRun is called at the start of a dry run, of an association too.
func beginDryRun(stmt *gorm.Statement) {
	if inherited[*dryRun](stmt, dryRunKey{}) == nil {
		stmt.Settings.Store(dryRunKey{}, &dryRun{stmt: stmt, given: map[snowflake.ID]bool{}})
	}
}

// endDryRun is called at its end. c is nil if no record got an ID.
func (h *handle) endDryRun(stmt *gorm.Statement, c *creation) {
	d := inherited[*dryRun](stmt, dryRunKey{})
	if d == nil || stmt.Schema == nil {
		return
	}
	d.all = append(d.all, stmt)
	if c != nil {
		for _, id := range c.given {
			d.given[id] = id != 0
		}
	}
	if d.stmt != stmt {
		return
	}
	stmt.Settings.Delete(dryRunKey{})
	for _, stmt := range d.all {
		d.takeBack(h.planOf(stmt.Schema), stmt)
	}
}

// takeBack clears all fields of the records that have an ID of the dry run.
func (d *dryRun) takeBack(p *plan, stmt *gorm.Statement) {
	r := &records{plan: p}
	if ok, err := r.of(stmt); !ok || err != nil {
		return
	}
	for i := range r.n {
		if r.isMap {
			maps.DeleteFunc(r.maps[i], func(name string, entry any) bool {
				return d.gave(p.schema.LookUpField(name), entry)
			})
			continue
		}
		for _, field := range p.schema.Fields {
			if field.DBName == "" || !field.Creatable || !p.has(field, r.at(i).Type()) {
				continue
			}
			if x, zero := field.ValueOf(stmt.Context, r.at(i)); !zero && d.gave(field, x) {
				_ = stmt.AddError(field.Set(stmt.Context, r.at(i), nil))
			}
		}
	}
}

// has reports whether a record has the field. One of another type than the model needs only those that are written.
func (p *plan) has(field *schema.Field, record reflect.Type) bool {
	return record == p.schema.ModelType || (&column{field: field}).typeAt(record) == field.FieldType
}

// gave reports whether what a field has is an ID of the dry run.
func (d *dryRun) gave(field *schema.Field, x any) bool {
	if field == nil {
		return false
	}
	elem := indirect(field.FieldType)
	got, _ := (&column{field: field, kind: kindOfAny(elem), elem: elem}).fromMap(x)
	return d.given[got.id]
}
