package gormplugin_test

import (
	"testing"

	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
)

// coupon has two generated columns beside its key.
type coupon struct {
	ID     snowflake.ID `gorm:"type:int"`
	Name   string       `gorm:"uniqueIndex;size:20"`
	Code   int64        `gorm:"snowflake"`
	Number int64        `gorm:"snowflake"`
}

// byNameSetting updates the columns of the row with the name.
func byNameSetting(columns ...string) clause.OnConflict {
	return clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns(columns)}
}

func TestOfTwoGeneratedColumnsTheOneThatIsSetIsUpdated(t *testing.T) {
	db := onSQLite(t, &coupon{})
	first, again := coupon{Name: "a"}, coupon{Name: "a", Number: 9}
	must(t, db.Create(&first))
	must(t, db.Clauses(byNameSetting("code", "number")).Create(&again))
	equal(t, "record", again, coupon{ID: first.ID, Name: "a", Code: first.Code, Number: 9})
	equal(t, "rows", db.count(t, "coupons", "code = ? AND number = 9", first.Code), 1)
}

func TestAKeyThatTheCallerAssignsIsReplaced(t *testing.T) {
	db := onSQLite(t, &coupon{})
	must(t, db.Create(&coupon{Name: "a"}))
	again := coupon{Name: "a"}
	must(t, db.Clauses(byNameSetting("id", "code")).Create(&again))
	equal(t, "key", again.ID, firstID+3)
	db.wantKeys(t, "coupons", again.ID)
}

func TestAReturningOfAllColumnsStaysOne(t *testing.T) {
	db := onSQLite(t, &city{}, &street{})
	key := withBerlin(t, db)
	c := city{Code: "BER", Name: "is not updated"}
	sameCode := clause.OnConflict{Columns: byCode.Columns, DoUpdates: clause.AssignmentColumns([]string{"code"})}
	must(t, db.Clauses(sameCode, clause.Returning{}).Create(&c))
	equal(t, "key", c.ID, key)
	equal(t, "name", c.Name, "Berlin")
}

func TestMapsInSlicesAreFoundUnderTheNamesOfFields(t *testing.T) {
	db := onSQLite(t, &city{}, &street{})
	key := withBerlin(t, db)
	for _, conflict := range []clause.OnConflict{byCode, {Columns: byCode.Columns, UpdateAll: true}} {
		maps := []map[string]any{{"Code": "BER", "Name": "Berlin, Stadt"}, {"Code": "PAR", "Name": "Paris"}}
		must(t, db.Model(&city{}).Clauses(conflict).Create(&maps))
		equal(t, "key", maps[0]["id"], any(key))
	}
}

func TestGeneratedColumnsOfMapsFollowTheRowWithTheKey(t *testing.T) {
	for name, conflict := range map[string]clause.OnConflict{
		"UpdateAll": {UpdateAll: true},
		"PrimaryKey": {
			Columns:   []clause.Column{{Name: clause.PrimaryKey}},
			DoUpdates: clause.AssignmentColumns([]string{"name", "code"}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := onSQLite(t, &coupon{})
			first := []coupon{{Name: "a"}, {Name: "b"}}
			must(t, db.Create(&first))
			maps := []map[string]any{{"id": first[0].ID, "name": "c"}, {"id": first[1].ID, "name": "d"}}
			must(t, db.Model(&coupon{}).Clauses(conflict).Create(&maps))
			for i := range maps {
				equal(t, "code", maps[i]["code"], any(first[i].Code))
				equal(t, "rows", db.count(t, "coupons", "id = ? AND code = ?", first[i].ID, first[i].Code), 1)
			}
		})
	}
}
