package gormplugin_test

import (
	"math/rand/v2"
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
	must(t, db.Model(&parcel{}).Pluck("name", &found))
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
			equal(t, tt.what+", Where", names(t, db.Where(tt.cond)), tt.want)
			equal(t, tt.what+", Clauses", names(t, db.Clauses(tt.cond)), tt.want)
			equal(t, tt.what+", Not", len(names(t, db.Not(tt.cond))), 5-len(tt.want))
		}
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
			equal(t, what, names(t, found.db), found.want)
		}
	}, &parcel{}, &label{})
}

func TestCreatedAndPageAreQualifiedWithTheirTable(t *testing.T) {
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
		page := gormplugin.Page{After: boxes[0].ID, Limit: 1}
		must(t, db.Joins("Parcel").Clauses(page).Find(&found))
		if len(found) != 1 || found[0].ID != boxes[1].ID || found[0].Parcel.Name != "c" {
			t.Errorf("a page with a joined relation: %+v", found)
		}
		must(t, db.Table("parcels AS p").Clauses(gormplugin.Page{After: parcels[0].ID, Limit: 1}).Find(&parcels))
		equal(t, "a page with an alias", inOrder(parcels), "b")
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

// IDs of several workers are not in order by time within a period, and a field above the time splits a span into a range
// for each of its values, which stay together beside other conditions.
func TestCreatedIsExactInOtherOrdersOfTheFields(t *testing.T) {
	sharded, err := snowflake.ParseLayout("epoch=2025-01-01T00:00:00Z tick=1ms bucket:2 time:19 worker:9 time:22 sequence:11")
	noError(t, err)
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		for _, layout := range []snowflake.Layout{snowflake.Clustered(), snowflake.Scattered(), sharded} {
			db, _ := openWith(t, target, gormplugin.New(hourly(layout)), &parcel{}, &label{})
			must(t, db.Where("1 = 1").Delete(&parcel{}))
			instants := []time.Time{layout.Epoch(), layout.End()}
			for n := range 5 { // starts of periods
				at := newYear.Add(time.Duration(n) * layout.Period())
				instants = append(instants, at.Add(-at.Sub(layout.Epoch())%layout.Period()), at)
			}
			parcels := []parcel{{ID: -1}}
			for range 200 {
				parts := snowflake.Parts{
					Time: newYear.Add(time.Duration(rand.Int64N(int64(5 * time.Hour)))), Worker: rand.Int64N(512),
					Sequence: rand.Int64N(layout.MaxSequence() + 1),
				}
				if layout == sharded {
					parts.Fields = map[string]int64{"bucket": rand.Int64N(4)}
				}
				id, err := layout.Compose(parts)
				noError(t, err)
				parcels = append(parcels, parcel{ID: id})
				instants = append(instants, layout.Time(id))
			}
			must(t, db.Create(&parcels))
			for range 60 {
				from, to := instants[rand.IntN(len(instants))].Add(time.Duration(rand.IntN(3)-1)), instants[rand.IntN(len(instants))]
				if to.Before(from) {
					from, to = to, from
				}
				for cond, holds := range map[clause.Expression]func(at time.Time) bool{
					gormplugin.CreatedBetween(from, to): func(at time.Time) bool { return !at.Before(from) && at.Before(to) },
					gormplugin.CreatedSince(from):       func(at time.Time) bool { return !at.Before(from) },
					gormplugin.CreatedBefore(to):        func(at time.Time) bool { return at.Before(to) },
				} {
					var want, rest, found, not, or []snowflake.ID
					for _, p := range parcels {
						if p.ID > 0 && holds(layout.Time(p.ID)) {
							want = append(want, p.ID)
						} else {
							rest = append(rest, p.ID)
						}
					}
					slices.Sort(want)
					slices.Sort(rest)
					must(t, db.Model(&parcel{}).Where("weight = 0").Where(cond).Order("id").Pluck("id", &found))
					must(t, db.Model(&parcel{}).Not(cond).Order("id").Pluck("id", &not))
					must(t, db.Model(&parcel{}).Where("id < 0").Or(cond).Order("id").Pluck("id", &or))
					if !slices.Equal(found, want) || !slices.Equal(not, rest) || !slices.Equal(or, append([]snowflake.ID{-1}, want...)) {
						t.Fatalf("from %v to %v: %d, not %d, or %d, want %d and %d", from, to, len(found), len(not), len(or), len(want), len(rest))
					}
				}
			}
		}
	})
}
