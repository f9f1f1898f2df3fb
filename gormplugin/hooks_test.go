package gormplugin_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// audited writes down in its hooks which key it has.
type audited struct {
	ID                        snowflake.ID `gorm:"primaryKey"`
	Name                      string
	InSave, InCreate, InAfter snowflake.ID
}

func (a *audited) BeforeSave(*gorm.DB) error   { a.InSave = a.ID; return nil }
func (a *audited) BeforeCreate(*gorm.DB) error { a.InCreate = a.ID; return nil }
func (a *audited) AfterCreate(*gorm.DB) error  { a.InAfter = a.ID; return nil }

func TestHooksSeeTheKey(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		records := []audited{{Name: "a"}, {Name: "b"}}
		must(t, db.Create(&records))
		for i, r := range records {
			id := firstID + snowflake.ID(i)
			equal(t, "record", r, audited{ID: id, Name: r.Name, InSave: id, InCreate: id, InAfter: id})
		}
		equal(t, "rows", db.count(t, "auditeds", "in_create = id AND in_save = id"), 2)
	}, &audited{})
}

func TestSkippedHooksDoNotSkipTheKey(t *testing.T) {
	eachWith(t, gorm.Config{DisableForeignKeyConstraintWhenMigrating: true}, func(t *testing.T, db *env) {
		tx := db.Session(&gorm.Session{SkipHooks: true})
		r := audited{Name: "a"}
		must(t, tx.Create(&r))
		equal(t, "record", r, audited{ID: firstID, Name: "a"})

		p := parent{Name: "p", Children: []child{{Name: "c"}}}
		must(t, tx.Create(&p))
		equal(t, "key of the child", p.Children[0].ID, firstID+2)

		// Save of an unknown key inserts with SkipHooks; so do its associations.
		saved := parent{ID: 8, Name: "saved", Children: []child{{Name: "d"}}}
		must(t, db.Save(&saved))
		equal(t, "key of a child of Save", saved.Children[0].ID, firstID+3)
		db.wantKeys(t, "parents", firstID+1, 8)
		db.wantKeys(t, "children", firstID+2, firstID+3)
	}, &audited{}, &parent{}, &child{})
}

type forgetful struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Name string       `gorm:"uniqueIndex"`
}

func (f *forgetful) BeforeCreate(*gorm.DB) error {
	if f.Name == "b" {
		f.ID = 0
	}
	return nil
}

func TestAHookThatTakesTheKeyAwayGetsAnother(t *testing.T) {
	db := onSQLite(t, &forgetful{})
	f := []forgetful{{Name: "a"}, {Name: "b"}}
	must(t, db.Create(&f))
	db.wantKeys(t, "forgetfuls", f[0].ID, f[1].ID)
	again := []forgetful{{Name: "c"}, {Name: "b"}}
	if err := db.Create(&again).Error; err == nil {
		t.Error("no violation")
	}
	equal(t, "keys after the violation", again[0].ID+again[1].ID, 0)
}

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
		many := []selective{{Name: "a", Parts: []selectivePart{{}}}, {Name: "b"}}
		tx := db.Select("Secret", "Parts")
		must(t, tx.Create(&many))
		db.wantKeys(t, "selectives", s.ID, many[0].ID, many[1].ID)
		equal(t, "parts", db.count(t, "selective_parts", "1 = 1"), 0)
		equal(t, "columns afterwards", len(tx.Statement.Selects), 1)
	}, &selective{}, &selectivePart{})
}
