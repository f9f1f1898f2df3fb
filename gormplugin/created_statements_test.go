package gormplugin_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestCreatedAndPageAreQualifiedWithTheirTable(t *testing.T) {
	type box struct { // another table with a column of that name
		ID       snowflake.ID `gorm:"primaryKey;type:int"`
		ParcelID snowflake.ID
		Parcel   *parcel
	}
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		parcels := createParcels(t, db, 3) // 0:00 to 2:00
		boxes := []box{{ParcelID: parcels[0].ID}, {ParcelID: parcels[2].ID}}
		must(t, db.Create(&boxes)) // 3:00 and 4:00

		var found []box
		must(t, db.Joins("Parcel").Where(gormplugin.CreatedSince(hour(4))).Find(&found))
		if len(found) != 1 || found[0].ID != boxes[1].ID || found[0].Parcel.Name != "c" {
			t.Errorf("with a joined relation: %+v", found)
		}
		page := gormplugin.Page{After: boxes[0].ID, Limit: 1}
		must(t, db.Joins("Parcel").Clauses(page).Find(&found))
		if len(found) != 1 || found[0].ID != boxes[1].ID || found[0].Parcel.Name != "c" {
			t.Errorf("a page with a joined relation: %+v", found)
		}
		must(t, db.Table("parcels AS p").Clauses(gormplugin.Page{After: parcels[0].ID, Limit: 1}).Find(&parcels))
		equal(t, "a page with an alias", inOrder(parcels), "b")
		joined := db.Joins("JOIN boxes ON boxes.parcel_id = parcels.id")
		equal(t, "with a joined table", names(t, joined.Session(&gorm.Session{}).Where(gormplugin.CreatedSince(hour(1)))), "c")
		// The column of another table, and a foreign key.
		equal(t, "boxes.id", names(t, joined.Where(gormplugin.CreatedBefore(hour(4)).On("boxes.id"))), "a")
		must(t, db.Where(gormplugin.CreatedSince(hour(1)).On("ParcelID")).Find(&found))
		if len(found) != 1 || found[0].ID != boxes[1].ID {
			t.Errorf("by the foreign key: %+v", found)
		}
		// The ON clause of a join is built for no model.
		on := db.Where(gormplugin.CreatedSince(hour(1)).On("id"))
		must(t, db.Joins("Parcel", on).Order("boxes.id").Find(&found))
		if len(found) != 2 || found[0].Parcel != nil || found[1].Parcel == nil {
			t.Errorf("with a condition of the join: %+v", found)
		}
	}, &parcel{}, &label{}, &box{})
}

// A key of several fields is ordered by the one that GORM prioritizes.
func TestCreatedTakesThePrioritizedFieldOfACompositeKey(t *testing.T) {
	type entry struct {
		TenantID int64        `gorm:"primaryKey;autoIncrement:false"`
		ID       snowflake.ID `gorm:"primaryKey"`
	}
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		must(t, db.Create(&[]entry{{TenantID: 1}, {TenantID: 2}, {TenantID: 1}}))
		var found []entry
		must(t, db.Where("tenant_id = ?", 1).Where(gormplugin.CreatedSince(hour(1))).Find(&found))
		if len(found) != 1 || found[0].TenantID != 1 {
			t.Errorf("found %+v, want the last", found)
		}
	}, &entry{})
}
