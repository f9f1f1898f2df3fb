package gormplugin_test

import (
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
)

// selective selects in its hook what is written.
type selective struct {
	ID     snowflake.ID `gorm:"primaryKey;type:int"`
	Name   string
	Secret string
	Parts  []selectivePart
}

type selectivePart struct {
	ID          snowflake.ID `gorm:"primaryKey;type:int"`
	SelectiveID snowflake.ID
}

func (*selective) BeforeCreate(tx *gorm.DB) error {
	tx.Statement.Selects = []string{"Name"}
	return nil
}

func TestASelectionThatAHookMakesStillWritesTheKey(t *testing.T) {
	eachWith(t, withoutConstraints, func(t *testing.T, db *env) {
		s := selective{Name: "n", Secret: "s"}
		must(t, db.Create(&s))
		equal(t, "rows", db.count(t, "selectives", "id = ? AND name = 'n' AND secret IS NULL", s.ID), 1)
		many := []selective{{Name: "a"}, {Name: "b"}}
		must(t, db.Select("Secret").Create(&many))
		db.wantKeys(t, "selectives", s.ID, many[0].ID, many[1].ID)
	}, &selective{}, &selectivePart{})
}

func TestASelectionThatAHookMakesHoldsForAssociations(t *testing.T) {
	eachWith(t, withoutConstraints, func(t *testing.T, db *env) {
		tx := db.Select("Name", "Secret", "Parts")
		must(t, tx.Create(&selective{Name: "n", Parts: []selectivePart{{}}}))
		equal(t, "parts", db.count(t, "selective_parts", "1 = 1"), 0)
		equal(t, "columns afterwards", len(tx.Statement.Selects), 1)
	}, &selective{}, &selectivePart{})
}

// renumbered sets its own key in a hook.
type renumbered struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Code string       `gorm:"uniqueIndex;size:20"`
	Name string
	Own  snowflake.ID `gorm:"-"`
}

func (r *renumbered) BeforeCreate(*gorm.DB) error {
	if r.Own != 0 {
		r.ID = r.Own
	}
	return nil
}

func TestAKeyOfAHookIsNotTakenBack(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		if !db.mysql || db.returning() {
			t.Skip("keys stay unknown only where there is neither RETURNING nor a target")
		}
		must(t, db.Create(&renumbered{ID: 5, Code: "a"}))
		records := []renumbered{{Code: "a", Own: 8}, {Code: "a"}}
		must(t, db.Clauses(clause.OnConflict{DoUpdates: byCode.DoUpdates}).Create(&records))
		equal(t, "key that the hook set", records[0].ID, 8)
		equal(t, "key that the plugin gave", records[1].ID, 0)
	}, &renumbered{})
}
