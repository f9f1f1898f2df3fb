package gormplugin_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// inOrder returns the names of parcels as one word.
func inOrder(parcels []parcel) string {
	var word strings.Builder
	for _, p := range parcels {
		word.WriteString(p.Name)
	}
	return word.String()
}

// found returns the names of the parcels that a statement finds, in its order.
func found(t testing.TB, db *gorm.DB) string {
	t.Helper()
	var parcels []parcel
	must(t, db.Find(&parcels))
	return inOrder(parcels)
}

func TestPageSelectsTheNextRowsByKey(t *testing.T) {
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		p := createParcels(t, db, 6)
		for _, tt := range []struct {
			page gormplugin.Page
			want string
		}{
			{gormplugin.Page{Limit: 2}, "ab"},
			{gormplugin.Page{Limit: 2, Desc: true}, "fe"},
			{gormplugin.Page{Limit: 2, After: p[1].ID}, "cd"},
			{gormplugin.Page{Limit: 2, After: p[1].ID - 1}, "bc"},
			{gormplugin.Page{Limit: 2, After: p[4].ID}, "f"},
			{gormplugin.Page{Limit: 2, After: p[5].ID}, ""},
			{gormplugin.Page{Limit: 2, After: p[4].ID, Desc: true}, "dc"},
			{gormplugin.Page{Limit: 2, After: p[0].ID, Desc: true}, ""},
			{gormplugin.Page{Limit: 100}, "abcdef"},
			{gormplugin.Page{Limit: 3, After: -5}, "abc"},
			{gormplugin.Page{Limit: 3, After: -5, Desc: true}, ""},
		} {
			equal(t, "page", found(t, db.Clauses(tt.page)), tt.want)
			generic, err := gorm.G[parcel](db, tt.page).Find(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "page by generics", inOrder(generic), tt.want)
		}
	}, &parcel{}, &label{})
}

// The trap: `a OR b AND id > ?` is `a OR (b AND id > ?)`.
func TestAnOrStaysOnThePage(t *testing.T) {
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		p := createParcels(t, db, 8) // the weights are 0 to 7
		page := gormplugin.Page{After: p[2].ID, Limit: 3}
		for what, tx := range map[string]*gorm.DB{
			"page last":          db.Where("weight = 0").Or("weight >= 2").Clauses(page),
			"page first":         db.Clauses(page).Where("weight = 0").Or("weight >= 2"),
			"page between":       db.Where("weight = 0").Clauses(page).Or("weight >= 2"),
			"or first":           db.Or("weight = 0").Or("weight >= 2").Clauses(page),
			"or after the page":  db.Clauses(page).Or("weight = 0").Or("weight >= 2"),
			"raw or":             db.Where("weight = 0 OR weight >= 2").Clauses(page),
			"raw or in newlines": db.Where("weight = 0\nor\nweight >= 2").Clauses(page),
			"named or":           db.Where("weight = @x OR weight >= @y", map[string]any{"x": 0, "y": 2}).Clauses(page),
			"a group":            db.Clauses(page).Where(db.Where("weight = 0").Or("weight >= 2")),
			"in a scope before":  db.Scopes(zeroOrMore).Clauses(page),
			"in a scope after":   db.Clauses(page).Scopes(zeroOrMore),
			"the page in one": db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Clauses(page) }).
				Where("weight = 0").Or("weight >= 2"),
			"clause.Or": db.Clauses(page, clause.Or(clause.Eq{Column: "weight", Value: 0}, clause.Gte{Column: "weight", Value: 2})),
			"clause.Where": db.Clauses(page).Clauses(clause.Where{Exprs: []clause.Expression{
				clause.Or(clause.Eq{Column: "weight", Value: 0}), clause.Or(clause.Gte{Column: "weight", Value: 2}),
			}}),
			"a reused handle": db.Where("weight = 0").Session(&gorm.Session{}).Clauses(page).Or("weight >= 2"),
			"a clone after":   db.Clauses(page).Where("weight = 0").Session(&gorm.Session{}).Or("weight >= 2"),
		} {
			equal(t, what, found(t, tx), "def")
		}
		var parcels []parcel
		must(t, db.Clauses(page).Find(&parcels, "weight = ? OR weight >= ?", 0, 2))
		equal(t, "inline", inOrder(parcels), "def")
		generic, err := gorm.G[parcel](db, page).Where("weight = 0").Or("weight >= 2").Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "generics", inOrder(generic), "def")
	}, &parcel{}, &label{})
}

func zeroOrMore(db *gorm.DB) *gorm.DB { return db.Where("weight = 0").Or("weight >= 2") }

func TestPageIsQualifiedWithItsTable(t *testing.T) {
	type box struct {
		ID       snowflake.ID `gorm:"primaryKey;type:int"`
		ParcelID snowflake.ID
		Parcel   *parcel
	}
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		p := createParcels(t, db, 4)
		boxes := []box{{ParcelID: p[3].ID}, {ParcelID: p[2].ID}, {ParcelID: p[1].ID}}
		must(t, db.Create(&boxes))
		page := gormplugin.Page{After: boxes[0].ID, Limit: 1}
		var rows []box
		must(t, db.Joins("Parcel").Clauses(page).Find(&rows))
		if len(rows) != 1 || rows[0].Parcel.Name != "c" {
			t.Errorf("with a joined relation: %+v", rows)
		}
		joined := db.Joins("JOIN boxes ON boxes.parcel_id = parcels.id").Clauses(gormplugin.Page{After: p[1].ID, Limit: 5})
		equal(t, "with a joined table", found(t, joined), "cd")
		var parcels []parcel
		must(t, db.Table("parcels AS p").Clauses(gormplugin.Page{After: p[1].ID, Limit: 1}).Find(&parcels))
		equal(t, "with an alias", inOrder(parcels), "c")
		must(t, db.Clauses(page).Preload("Parcel", "weight = ?", 2).Find(&rows))
		if len(rows) != 1 || rows[0].Parcel == nil || rows[0].Parcel.Name != "c" {
			t.Errorf("with a preload: %+v", rows)
		}
	}, &parcel{}, &label{}, &box{})
}

func TestPageLeavesASharedHandleAlone(t *testing.T) {
	target := testdb.SQLite(t)
	db, log := openWith(t, target, gormplugin.New(hourly()), &parcel{}, &label{})
	p := createParcels(t, db, 4)
	shared := db.Where("weight >= 0").Session(&gorm.Session{})
	log.take()
	for range 2 {
		equal(t, "first", found(t, shared.Clauses(gormplugin.Page{Limit: 1})), "a")
		equal(t, "next", found(t, shared.Clauses(gormplugin.Page{After: p[0].ID, Limit: 2})), "bc")
		equal(t, "no page", found(t, shared), "abcd")
		equal(t, "last", found(t, shared.Clauses(gormplugin.Page{Limit: 1, Desc: true})), "d")
	}
	statements := log.take()
	for i := range 4 {
		equal(t, "the same statement the second time", statements[i+4], statements[i])
	}
	withPage := db.Clauses(gormplugin.Page{After: p[0].ID, Limit: 2}).Session(&gorm.Session{})
	for range 2 {
		equal(t, "with one condition", found(t, withPage.Where("weight <> 1").Or("weight = 0")), "cd")
		equal(t, "with another", found(t, withPage.Where("weight = 1")), "b")
		equal(t, "with none", found(t, withPage), "bc")
	}
}
