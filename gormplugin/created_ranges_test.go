package gormplugin_test

import (
	"testing"
	"time"

	"gorm.io/gorm"

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
