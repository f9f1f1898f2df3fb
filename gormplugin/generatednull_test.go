package gormplugin_test

import (
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
)

// ticket has a generated column that is NULL in rows from before it was added.
type ticket struct {
	ID     snowflake.ID  `gorm:"primaryKey;type:int"`
	Slug   string        `gorm:"size:20;uniqueIndex"`
	Number *snowflake.ID `gorm:"snowflake;uniqueIndex"`
	Serial snowflake.ID  `gorm:"snowflake"`
}

// badge has a key that the plugin does not fill.
type badge struct {
	Name   string        `gorm:"primaryKey;size:20"`
	Slug   string        `gorm:"size:20;uniqueIndex"`
	Number *snowflake.ID `gorm:"snowflake;uniqueIndex"`
	Serial snowflake.ID  `gorm:"snowflake"`
}

// GORM leaves a pointer as it is when it scans NULL.
func TestARecordOfARowWithoutTheGeneratedValueHasNone(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		must(t, db.Omit("Number", "Serial").Create(&ticket{ID: 17, Slug: "a"}))
		records := []ticket{{Slug: "b"}, {Slug: "a"}}
		upsert := clause.OnConflict{Columns: bySlug, DoUpdates: clause.AssignmentColumns([]string{"slug"})}
		must(t, db.Clauses(upsert).Create(&records))
		one := ticket{Slug: "a"}
		must(t, db.Clauses(upsert).Create(&one))
		for _, met := range []ticket{records[1], one} {
			if met.ID != 17 || met.Number != nil || met.Serial != 0 {
				t.Errorf("%+v with the number %v, want the row 17 without a number", met, met.Number)
			}
		}
		if records[0].Number == nil || records[0].Serial == 0 {
			t.Errorf("%+v is new and has no number", records[0])
		}
		for _, c := range []clause.OnConflict{{UpdateAll: true}, upsert} { // the conflict is over the key, or the key is right
			same := ticket{ID: 17, Slug: "a"}
			must(t, db.Clauses(c).Create(&same))
			if same.ID != 17 || same.Number != nil || same.Serial != 0 {
				t.Errorf("%+v with the number %v, want the row 17 without a number", same, same.Number)
			}
		}
		must(t, db.Omit("Number", "Serial").Create(&badge{Name: "x", Slug: "a"}))
		named := badge{Name: "x", Slug: "a"}
		must(t, db.Clauses(upsert).Create(&named))
		if named.Number != nil || named.Serial != 0 {
			t.Errorf("%+v with the number %v, want the row x without a number", named, named.Number)
		}

		// Unless the statement has given the row the value.
		excluded := "excluded.number"
		if db.Name() == "mysql" {
			excluded = "VALUES(number)"
		}
		number := clause.Assignment{Column: clause.Column{Name: "number"}, Value: gorm.Expr(excluded)}
		upsert.DoUpdates = append(clause.Set{number}, upsert.DoUpdates...)
		two := ticket{Slug: "a"}
		must(t, db.Clauses(upsert).Create(&two))
		var row ticket
		must(t, db.Take(&row, 17))
		if two.Number == nil || row.Number == nil || *two.Number != *row.Number {
			t.Errorf("%+v with the number %v, the row has %v", two, two.Number, row.Number)
		}
	}, &ticket{}, &badge{})
}
