package gormplugin_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestCreatedWorksInEveryKindOfStatement(t *testing.T) {
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		createParcels(t, db, 6)
		var n int64
		must(t, db.Table("parcels").Model(&parcel{}).Where(gormplugin.CreatedSince(hour(3))).Count(&n))
		equal(t, "count in a table", n, 3)
		var first parcel
		must(t, db.First(&first, gormplugin.CreatedSince(hour(2))))
		equal(t, "first", first.Name, "c")
		result := must(t, db.Model(&parcel{}).Where(gormplugin.CreatedSince(hour(5))).Update("name", "z"))
		equal(t, "updated", result.RowsAffected, 1)
		equal(t, "names", names(t, db), "abcdez")
		result = must(t, db.Delete(&parcel{}, gormplugin.CreatedBetween(hour(1), hour(3))))
		equal(t, "deleted", result.RowsAffected, 2)
		result = must(t, db.Where(gormplugin.CreatedBefore(hour(1))).Or("name = ?", "z").Delete(&parcel{}))
		equal(t, "deleted", result.RowsAffected, 2)
		equal(t, "names", names(t, db), "de")
	}, &parcel{}, &label{})
}

func TestCreatedIsQualifiedWithItsTable(t *testing.T) {
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

func TestCreatedLeavesOutKeysThatNoGeneratorMade(t *testing.T) {
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		must(t, db.Create(&[]parcel{{ID: -1, Name: "m"}, {ID: 7, Name: "s"}, {Name: "a"}}))
		equal(t, "before", names(t, db.Where(gormplugin.CreatedBefore(hour(1)))), "as")
		equal(t, "before the epoch", names(t, db.Where(gormplugin.CreatedBefore(snowflake.Default().Epoch()))), "")
		equal(t, "since the epoch", names(t, db.Where(gormplugin.CreatedSince(snowflake.Default().Epoch()))), "as")
		equal(t, "since", names(t, db.Where(gormplugin.CreatedSince(newYear))), "a")
	}, &parcel{}, &label{})
}

func TestCreatedConditionsPreloads(t *testing.T) {
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		p := parcel{Name: "a", Labels: []label{{Text: "1"}, {Text: "2"}}} // 0:00, 1:00, 2:00
		must(t, db.Create(&p))
		var got parcel
		must(t, db.Preload("Labels", gormplugin.CreatedSince(hour(2))).First(&got, p.ID))
		if len(got.Labels) != 1 || got.Labels[0].Text != "2" {
			t.Errorf("labels %+v, want the second", got.Labels)
		}
	}, &parcel{}, &label{})
}
