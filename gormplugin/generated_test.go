package gormplugin_test

import (
	"errors"
	"fmt"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// article has a generated column beside its key.
type article struct {
	ID       snowflake.ID `gorm:"primaryKey;type:int"`
	Slug     string       `gorm:"size:20;uniqueIndex"`
	Title    string
	PublicID int64  `gorm:"snowflake;uniqueIndex"`
	Code     string `gorm:"snowflake;size:20"`
}

// counter has a key of the database and a generated column.
type counter struct {
	ID       uint
	Slug     string `gorm:"size:20;uniqueIndex"`
	Title    string
	PublicID string `gorm:"snowflake;size:20;uniqueIndex"`
	Links    []link `gorm:"references:PublicID;foreignKey:CounterPublicID"`
}

type link struct {
	ID              snowflake.ID
	CounterPublicID string `gorm:"size:20"`
}

var bySlug = []clause.Column{{Name: "slug"}}

// withArticle puts an article into the database.
func withArticle(t *testing.T, db *env) article {
	t.Helper()
	a := article{ID: 17, Slug: "a", Title: "old", PublicID: 18, Code: "19"}
	must(t, db.Create(&a))
	db.log.take()
	return a
}

// wantRow compares a record with its row.
func wantRow(t *testing.T, db *env, a article) {
	t.Helper()
	var row article
	must(t, db.First(&row, "slug = ?", a.Slug))
	equal(t, "row of "+a.Slug, row, a)
}

func TestUpsertKeepsGeneratedColumnsOfTheRow(t *testing.T) {
	for name, conflict := range map[string]clause.OnConflict{
		"UpdateAll": {Columns: bySlug, UpdateAll: true},
		"DoUpdates": {Columns: bySlug, DoUpdates: clause.AssignmentColumns([]string{"title", "public_id", "code"})},
	} {
		t.Run(name, func(t *testing.T) {
			eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
				old := withArticle(t, db)
				a := article{Slug: "a", Title: "new"}
				must(t, db.Clauses(conflict).Create(&a))
				old.Title = "new"
				equal(t, "record", a, old)
				wantRow(t, db, a)

				batch := []article{{Slug: "b", Title: "b"}, {Slug: "a", Title: "newer"}, {Slug: "c", Title: "c", PublicID: 30}}
				must(t, db.Clauses(conflict).Create(&batch))
				old.Title = "newer"
				equal(t, "record in a batch", batch[1], old)
				for _, a := range batch {
					wantRow(t, db, a)
				}
				equal(t, "public ID that was set", batch[2].PublicID, 30)

				m := map[string]any{"slug": "a", "title": "newest"}
				must(t, db.Model(&article{}).Clauses(conflict).Create(m))
				equal(t, "key in a map", m["id"], any(old.ID))
				equal(t, "public ID in a map", m["public_id"], any(old.PublicID))
				equal(t, "code in a map", m["code"], any(old.Code))
				many := []map[string]any{{"slug": "d", "title": "d"}, {"slug": "a", "title": "last"}}
				must(t, db.Model(&article{}).Clauses(conflict).Create(many))
				equal(t, "public ID in a slice of maps", many[1]["public_id"], any(old.PublicID))
				equal(t, "code in a slice of maps", many[1]["code"], any(old.Code))
				old.Title = "last"
				wantRow(t, db, old)
			}, &article{})
		})
	}
}

// By the key: the row is the record's own, but it has a public ID already.
func TestUpsertByTheKeyKeepsGeneratedColumnsOfTheRow(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		old := withArticle(t, db)
		a := article{ID: old.ID, Slug: "a", Title: "new"}
		must(t, db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&a))
		old.Title = "new"
		equal(t, "record", a, old)
		wantRow(t, db, old)
	}, &article{})
}

func TestAnUpsertOfGeneratedColumnsAloneFindsTheRow(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		old := withArticle(t, db)
		a := article{Slug: "a", Title: "ignored"}
		only := clause.OnConflict{Columns: bySlug, DoUpdates: clause.AssignmentColumns([]string{"public_id"})}
		must(t, db.Clauses(only).Create(&a))
		wantRow(t, db, old)
		equal(t, "key", a.ID, old.ID)
		equal(t, "public ID", a.PublicID, old.PublicID)
	}, &article{})
}

func TestValuesThatTheCallerSetsAreUpdated(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		old := withArticle(t, db)
		a := article{Slug: "a", Title: "new", PublicID: 99, Code: "mine"}
		must(t, db.Clauses(clause.OnConflict{Columns: bySlug, UpdateAll: true}).Create(&a))
		equal(t, "record", a, article{old.ID, "a", "new", 99, "mine"})
		wantRow(t, db, a)
		b := article{Slug: "a", Title: "newer"} // an expression is the caller's wish
		set := clause.Set{{Column: clause.Column{Name: "public_id"}, Value: 100}}
		must(t, db.Clauses(clause.OnConflict{Columns: bySlug, DoUpdates: set}).Create(&b))
		equal(t, "record", b.PublicID, 100)
	}, &article{})
}

// chosen has a public ID that a hook sets.
type chosen article

func (chosen) TableName() string { return "articles" }

func (c *chosen) BeforeCreate(*gorm.DB) error {
	if c.Title == "chosen" {
		c.PublicID = 555
	}
	return nil
}

func TestWhatAnUpsertWritesForARecordDoesNotDependOnTheOthers(t *testing.T) {
	for name, conflict := range map[string]clause.OnConflict{
		"UpdateAll": {Columns: bySlug, UpdateAll: true},
		"DoUpdates": {Columns: bySlug, DoUpdates: clause.AssignmentColumns([]string{"public_id", "code"})},
	} {
		t.Run(name, func(t *testing.T) {
			eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
				old := []article{{ID: 17, Slug: "a", PublicID: 18, Code: "19"}, {ID: 27, Slug: "b", PublicID: 28, Code: "29"}}
				must(t, db.Create(&old))
				batch := []*article{{Slug: "a", PublicID: 777}, {Slug: "b", Code: "x"}, {Slug: "c"}}
				must(t, db.Clauses(conflict).Create(batch))
				equal(t, "record", *batch[0], article{17, "a", "", 777, "19"})
				equal(t, "record", *batch[1], article{27, "b", "", 28, "x"})
				maps := []map[string]any{{"slug": "a", "title": ""}, {"slug": "b", "title": "", "public_id": 888, "code": "29"}}
				must(t, db.Model(&article{}).Clauses(conflict).Create(maps))
				equal(t, "code in a map", maps[0]["code"], any("19"))
				batch[1].PublicID, batch[1].Code = 888, "29"
				for _, a := range batch {
					wantRow(t, db, *a)
				}
				hooked := []chosen{{Slug: "a", Title: "chosen"}, {Slug: "b"}}
				must(t, db.Clauses(conflict).Create(&hooked))
				equal(t, "public ID that a hook has set", db.count(t, "articles", "slug = 'a' AND public_id = 555"), 1)
				equal(t, "record with a hook", hooked[0].PublicID, 555)
				equal(t, "record beside it", hooked[1].PublicID, 888)
			}, &article{})
		})
	}
}

func TestDoNothingClearsGeneratedColumns(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		old := withArticle(t, db)
		a := article{Slug: "a", Title: "new"}
		must(t, db.Clauses(nothing).Create(&a))
		equal(t, "record", a, article{Slug: "a", Title: "new"})
		batch := []article{{Slug: "b"}, {Slug: "a"}, {Slug: "a", ID: 40}, {Slug: "c", ID: 41}, {Slug: "d", PublicID: 42, Code: "x"}}
		must(t, db.Clauses(nothing).Create(&batch))
		equal(t, "skipped", batch[1], article{Slug: "a"})
		equal(t, "skipped with a key", batch[2], article{ID: 40, Slug: "a"})
		for _, i := range []int{0, 3, 4} {
			wantRow(t, db, batch[i])
		}
		wantRow(t, db, old)
		m := map[string]any{"slug": "a"}
		must(t, db.Model(&article{}).Clauses(nothing).Create(m))
		equal(t, "entries of a skipped map", fmt.Sprint(m), "map[slug:a]")
		asked := article{Slug: "a"} // MariaDB returns the key of the row
		must(t, db.Clauses(nothing, clause.Returning{Columns: []clause.Column{{Name: "id"}}}).Create(&asked))
		asked.ID = 0
		equal(t, "record that asks for the key", asked, article{Slug: "a"})
	}, &article{})
}

func TestAGeneratedColumnBesideAKeyOfTheDatabaseFollowsTheRow(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		first := counter{Slug: "a", Title: "old"}
		must(t, db.Create(&first))
		equal(t, "public ID", first.PublicID, firstID.String())
		for _, conflict := range []clause.OnConflict{
			{Columns: bySlug, UpdateAll: true},
			{Columns: bySlug, DoUpdates: clause.AssignmentColumns([]string{"title"})},
		} {
			c := counter{Slug: "a", Title: "new", Links: []link{{}}}
			must(t, db.Clauses(conflict).Create(&c))
			equal(t, "public ID of the row", c.PublicID, first.PublicID)
			equal(t, "foreign key of the association", c.Links[0].CounterPublicID, first.PublicID)
			batch := []counter{{Slug: "b" + conflict.Name()}, {Slug: "a"}}
			batch[0].Slug = fmt.Sprint("b", conflict.UpdateAll)
			must(t, db.Clauses(conflict).Create(&batch))
			equal(t, "public ID of the row in a batch", batch[1].PublicID, first.PublicID)
			equal(t, "rows", db.count(t, "counters", "slug = ? AND public_id = ?", batch[0].Slug, batch[0].PublicID), 1)
		}
		c := counter{Slug: "a"}
		must(t, db.Clauses(nothing).Create(&c))
		equal(t, "public ID of a skipped record", c.PublicID, "")
		c = counter{Slug: "a", Links: []link{{}}}
		if err := db.Clauses(nothing).Create(&c).Error; !errors.Is(err, gormplugin.ErrKeyUnknown) {
			t.Errorf("a skipped record that others refer to: error %v, want ErrKeyUnknown", err)
		}
		equal(t, "orphans", db.count(t, "links", "counter_public_id NOT IN (SELECT public_id FROM counters)"), 0)
	}, &counter{}, &link{})
}

func TestRowsThatHaveNoGeneratedValueYetAreRead(t *testing.T) {
	type page struct {
		ID       snowflake.ID
		Slug     string  `gorm:"size:20;uniqueIndex"`
		PublicID *string `gorm:"snowflake;size:20"`
	}
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		must(t, db.Omit("PublicID").Create(&page{ID: 5, Slug: "a"}))
		pages := []page{{Slug: "a"}, {Slug: "b"}}
		must(t, db.Clauses(clause.OnConflict{Columns: bySlug, DoUpdates: clause.AssignmentColumns([]string{"slug"})}).Create(&pages))
		equal(t, "key", pages[0].ID, 5)
		if pages[0].PublicID != nil {
			t.Errorf("public ID of a row that has none: %s", *pages[0].PublicID)
		}
	}, &page{})
}
