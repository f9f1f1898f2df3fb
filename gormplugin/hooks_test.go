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

// slugged sets its own key.
type slugged struct {
	ID   snowflake.ID `gorm:"primaryKey"`
	Name string
}

func (s *slugged) BeforeCreate(*gorm.DB) error {
	if s.Name == "own" {
		s.ID = 12
	}
	return nil
}

func TestAKeyThatAHookSetsWins(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		s := slugged{Name: "own"}
		must(t, db.Create(&s))
		equal(t, "key", s.ID, 12)
		db.wantKeys(t, "sluggeds", 12)
	}, &slugged{})
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
