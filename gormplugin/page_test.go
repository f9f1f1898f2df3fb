package gormplugin_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
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
			noError(t, err)
			equal(t, "page by generics", inOrder(generic), tt.want)
		}
	}, &parcel{}, &label{})
}

func TestPageLeavesASharedHandleAlone(t *testing.T) {
	db := onSQLite(t, &parcel{}, &label{})
	p := createParcels(t, db.DB, 4)
	shared := db.Where("weight >= 0").Session(&gorm.Session{})
	withPage := db.Clauses(gormplugin.Page{After: p[0].ID, Limit: 2}).Session(&gorm.Session{})
	for range 2 {
		equal(t, "first", found(t, shared.Clauses(gormplugin.Page{Limit: 1})), "a")
		equal(t, "next", found(t, shared.Clauses(gormplugin.Page{After: p[0].ID, Limit: 2})), "bc")
		equal(t, "no page", found(t, shared), "abcd")
		equal(t, "last", found(t, shared.Clauses(gormplugin.Page{Limit: 1, Desc: true})), "d")
		equal(t, "with one condition", found(t, withPage.Where("weight <> 1").Or("weight = 0")), "cd")
		equal(t, "with another", found(t, withPage.Where("weight = 1")), "b")
		equal(t, "with none", found(t, withPage), "bc")
	}
}
