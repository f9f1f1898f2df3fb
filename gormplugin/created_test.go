package gormplugin_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// newYear is a time at which the tests begin to create rows.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// hour returns the start of an hour after newYear.
func hour(n int) time.Time { return newYear.Add(time.Duration(n) * time.Hour) }

// hourly returns a generator that makes an ID an hour, of the default layout if none is given.
func hourly(layout ...snowflake.Layout) *gormtest.Generator {
	return gormtest.New(append(layout, snowflake.Default())[0], newYear, time.Hour)
}

// openWith opens a handle with a plugin, nil for none, and creates the tables of the models.
func openWith(t testing.TB, target testdb.Target, plugin *gormplugin.Plugin, models ...any) (*gorm.DB, *recorder) {
	t.Helper()
	h := on(t, target)
	if plugin != nil {
		noError(t, h.Use(plugin))
	}
	h.migrate(t, models...)
	return h.DB, h.log
}

// eachHourly runs f on every kind of database, with a plugin whose IDs are an hour apart.
func eachHourly(t *testing.T, f func(t *testing.T, db *gorm.DB), models ...any) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db, _ := openWith(t, target, gormplugin.New(hourly()), models...)
		f(t, db)
	})
}

type parcel struct {
	ID      snowflake.ID `gorm:"primaryKey;type:int"`
	Name    string       `gorm:"size:20"`
	Weight  int
	Labels  []label `gorm:"foreignKey:ParcelID"`
	OrderID snowflake.ID
}

type label struct {
	ID       snowflake.ID `gorm:"primaryKey;type:int"`
	ParcelID snowflake.ID
	Text     string `gorm:"size:20"`
}

// createParcels creates the parcels a, b, c, ... with n letters, one an hour.
func createParcels(t testing.TB, db *gorm.DB, n int) []parcel {
	t.Helper()
	parcels := make([]parcel, n)
	for i := range parcels {
		parcels[i] = parcel{Name: string(rune('a' + i)), Weight: i}
	}
	must(t, db.Create(&parcels))
	return parcels
}

// names returns the names of the parcels that a statement finds, in alphabetical order.
func names(t testing.TB, db *gorm.DB) string {
	t.Helper()
	var found []string
	must(t, db.Model(&parcel{}).Pluck("parcels.name", &found))
	slices.Sort(found)
	return strings.Join(found, "")
}

func TestCreatedFindsRowsByTheTimeOfTheirKeys(t *testing.T) {
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		createParcels(t, db, 5) // a at 0:00 to e at 4:00
		for _, tt := range []struct {
			what string
			cond clause.Expression
			want string
		}{
			{"both ends on a row", gormplugin.CreatedBetween(hour(1), hour(3)), "bc"},
			{"in another zone", gormplugin.CreatedBetween(hour(1).In(time.FixedZone("", 3600)), hour(3)), "bc"},
			{"an empty span", gormplugin.CreatedBetween(hour(1), hour(1)), ""},
			{"since a row", gormplugin.CreatedSince(hour(3)), "de"},
			{"since just after a row", gormplugin.CreatedSince(hour(3).Add(1)), "e"},
			{"before just after a row", gormplugin.CreatedBefore(hour(3).Add(1)), "abcd"},
			{"from before the epoch to after the end", gormplugin.CreatedBetween(hour(-1e6), hour(1e6)), "abcde"},
			{"not since", clause.Not(gormplugin.CreatedSince(hour(3))), "abc"},
			{"not with others", clause.Not(gormplugin.CreatedSince(hour(3)), clause.Eq{Column: "name", Value: "a"}), "bc"},
			{"or", clause.Or(gormplugin.CreatedSince(hour(4)), gormplugin.CreatedBefore(hour(1))), "ae"},
		} {
			t.Run(tt.what, func(t *testing.T) {
				equal(t, "Where", names(t, db.Where(tt.cond)), tt.want)
				equal(t, "Clauses", names(t, db.Clauses(tt.cond)), tt.want)
				equal(t, "Not", len(names(t, db.Not(tt.cond))), 5-len(tt.want))
			})
		}
	}, &parcel{}, &label{})
}

func TestCreatedCombinesWithOtherConditions(t *testing.T) {
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		createParcels(t, db, 5)
		between := gormplugin.CreatedBetween(hour(1), hour(3))
		scope := func(db *gorm.DB) *gorm.DB { return db.Where(gormplugin.CreatedSince(hour(2))) }
		for what, found := range map[string]struct {
			db   *gorm.DB
			want string
		}{
			"and":                {db.Where("weight > ?", 1).Where(between), "c"},
			"or after":           {db.Where("weight = ?", 4).Or(between), "bce"},
			"or before":          {db.Where(between).Or("weight = ?", 4), "bce"},
			"not after":          {db.Where("weight > ?", 0).Not(between), "de"},
			"in a group":         {db.Where(db.Where(between).Or("name = ?", "e")).Where("weight > ?", 1), "ce"},
			"a scope":            {db.Scopes(scope).Where(gormplugin.CreatedBefore(hour(4))), "cd"},
			"an alias":           {db.Table("parcels AS p").Where(between).Select("p.name"), "bc"},
			"a subquery":         {db.Where("id IN (?)", db.Model(&parcel{}).Select("id").Where(between)), "bc"},
			"two of them":        {db.Where(gormplugin.CreatedSince(hour(1)), gormplugin.CreatedBefore(hour(2))), "b"},
			"a clause.Where":     {db.Clauses(clause.Where{Exprs: []clause.Expression{between}}), "bc"},
			"the name of a key":  {db.Where(between.On("ID")), "bc"},
			"the column of it":   {db.Where(between.On("id")), "bc"},
			"table and column":   {db.Where(between.On("parcels.id").In(snowflake.Default())), "bc"},
			"an explicit layout": {db.Where(between.In(snowflake.MustPreset("twitter"))), ""},
		} {
			t.Run(what, func(t *testing.T) {
				var rows []string
				column := "parcels.name"
				if what == "an alias" {
					column = "p.name"
				}
				must(t, found.db.Model(&parcel{}).Pluck(column, &rows))
				slices.Sort(rows)
				equal(t, "found", strings.Join(rows, ""), found.want)
			})
		}
	}, &parcel{}, &label{})
}
