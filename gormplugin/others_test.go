package gormplugin_test

import (
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// document has a UUID that its own hook makes.
type document struct {
	ID    string `gorm:"primaryKey;size:36"`
	Code  string `gorm:"uniqueIndex;size:20"`
	Title string
	Pages []page
}

func (d *document) BeforeCreate(*gorm.DB) error {
	if d.ID == "" {
		d.ID = uuid.NewString()
	}
	return nil
}

// page counts up.
type page struct {
	ID         uint
	DocumentID string `gorm:"size:36"`
	Text       string
}

func TestModelsWithOtherKeysAreLeftAlone(t *testing.T) {
	eachWith(t, withoutConstraints, func(t *testing.T, db *env) {
		d := document{Code: "a", Title: "A", Pages: []page{{Text: "1"}, {Text: "2"}}}
		must(t, db.Create(&d))
		if _, err := uuid.Parse(d.ID); err != nil {
			t.Errorf("key of the document: %v", err)
		}
		equal(t, "key of the first page", d.Pages[0].ID, 1)
		equal(t, "key of the second page", d.Pages[1].ID, 2)
		must(t, db.Model(&page{}).Create(map[string]any{"Text": "3"}))
		must(t, db.Create(&[]page{{Text: "4"}, {ID: 9, Text: "9"}}))
		must(t, db.Clauses(clause.OnConflict{DoNothing: true}).Create(&document{ID: uuid.NewString(), Code: "a"}))
		equal(t, "documents", db.count(t, "documents", "1 = 1"), 1)
		wantCalls(t, db.gen)
	}, &document{}, &page{})
}

func TestAnInt64KeyStaysWithTheDatabase(t *testing.T) {
	type legacy struct {
		ID   int64 `gorm:"type:bigint;primaryKey"`
		Name string
	}
	type auto struct{ ID int64 }
	each(t, func(t *testing.T, db *env) {
		a := auto{}
		must(t, db.Create(&a))
		equal(t, "key", a.ID, 1)
		must(t, db.Create(&legacy{ID: 5}))
		wantCalls(t, db.gen)
	}, &legacy{}, &auto{})
}
