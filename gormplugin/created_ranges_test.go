package gormplugin_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// A field above the time splits a span into a range for each of its values.
func TestCreatedFindsRowsOfAllBuckets(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		layout := snowflake.MustLayout(newYear, time.Millisecond,
			snowflake.Field{Name: "bucket", Bits: 2}, snowflake.Field{Name: "time", Bits: 41},
			snowflake.Field{Name: "worker", Bits: 8}, snowflake.Field{Name: "sequence", Bits: 12})
		db, _ := openWith(t, target, gormplugin.New(gormtest.New(layout, newYear, time.Millisecond)), &parcel{}, &label{})
		hours := make([]snowflake.Range, 4)
		for bucket := range hours { // a in the first bucket at 0:00, b in the second at 1:00 and so on
			ranges, err := layout.Ranges(hour(bucket), hour(bucket+1))
			noError(t, err)
			must(t, db.Create(&parcel{ID: ranges[bucket].Lo, Name: string(rune('a' + bucket)), Weight: bucket}))
		}
		between := gormplugin.CreatedBetween(hour(1), hour(3))
		for want, tx := range map[string]*gorm.DB{
			"bc":  db.Where(between),
			"ad":  db.Not(between),
			"c":   db.Where("weight >= 2").Where(between),
			"abc": db.Where("weight < 1").Or(between),
			"ab":  db.Where(gormplugin.CreatedBefore(hour(2))),
			"cd":  db.Where(gormplugin.CreatedSince(hour(2))),
		} {
			equal(t, "found", names(t, tx), want)
		}
	})
}

// IDs of several workers are not in order by time within a period.
func TestCreatedIsExactWithATimeInTwoParts(t *testing.T) {
	sharded, err := snowflake.ParseLayout("epoch=2025-01-01T00:00:00Z tick=1ms bucket:1 time:19 worker:10 time:22 sequence:11")
	noError(t, err)
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		for _, layout := range []snowflake.Layout{snowflake.Clustered(), sharded} {
			db, _ := openWith(t, target, gormplugin.New(hourly(layout)), &parcel{}, &label{})
			must(t, db.Where("1 = 1").Delete(&parcel{}))
			instants := []time.Time{layout.Epoch(), layout.End()}
			for n := range 5 { // starts of periods
				at := newYear.Add(time.Duration(n) * layout.Period())
				instants = append(instants, at.Add(-at.Sub(layout.Epoch())%layout.Period()), at)
			}
			parcels := []parcel{{ID: -1}}
			for range 200 {
				parts := snowflake.Parts{Time: newYear.Add(time.Duration(rand.Int64N(int64(5 * time.Hour)))), Worker: rand.Int64N(1024)}
				if layout == sharded {
					parts.Fields = map[string]int64{"bucket": rand.Int64N(2)}
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
					var want, rest, found, not []snowflake.ID
					for _, p := range parcels {
						if p.ID > 0 && holds(layout.Time(p.ID)) {
							want = append(want, p.ID)
						} else {
							rest = append(rest, p.ID)
						}
					}
					slices.Sort(want)
					slices.Sort(rest)
					must(t, db.Model(&parcel{}).Where(cond).Order("id").Pluck("id", &found))
					must(t, db.Model(&parcel{}).Not(cond).Order("id").Pluck("id", &not))
					if !slices.Equal(found, want) || !slices.Equal(not, rest) {
						t.Fatalf("from %v to %v: %d and not %d, want %d and %d", from, to, len(found), len(not), len(want), len(rest))
					}
				}
			}
		}
	})
}
