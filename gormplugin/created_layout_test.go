package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// opaque is a generator whose IDs cannot be read.
type opaque struct{}

func (opaque) Fill(context.Context, []snowflake.ID) error { return errors.New("not to be called") }

// usedLayout returns the name of the layout by which a condition reads the column, as its bound shows.
func usedLayout(t *testing.T, db *gorm.DB, cond gormplugin.Created, model any) (string, error) {
	t.Helper()
	tx := db.Session(&gorm.Session{DryRun: true}).Model(model).Where(cond).Find(&[]map[string]any{})
	if tx.Error != nil {
		return "", tx.Error
	}
	for name, layout := range map[string]snowflake.Layout{
		"default": snowflake.Default(), "twitter": snowflake.MustPreset("twitter"),
		"javascript": snowflake.MustPreset("javascriptsafe"),
	} {
		if lo, err := layout.MinAt(newYear); err == nil && tx.Statement.Vars[0] == lo {
			return name, nil
		}
	}
	t.Fatalf("bounds %v are of no layout", tx.Statement.Vars)
	return "", nil
}

func TestCreatedReadsAColumnAsItsGeneratorWroteIt(t *testing.T) {
	type customer struct {
		ID       snowflake.ID
		PublicID snowflake.ID `gorm:"snowflake:public"`
		Number   int64        `gorm:"snowflake"`
	}
	type invoice struct {
		ID         snowflake.ID
		CustomerID snowflake.ID
		Customer   *customer
		OtherID    snowflake.ID
		Cents      int64
	}
	type profile struct { // its key is its customer's
		CustomerID snowflake.ID `gorm:"primaryKey"`
		Customer   *customer
	}
	type counted struct{ ID uint }
	type tagged struct {
		ID int64 `gorm:"snowflake;autoIncrement:false"`
	}
	gen := func(l snowflake.Layout) *gormtest.Generator { return hourly(l) }
	base, twitter := gen(snowflake.Default()), gen(snowflake.MustPreset("twitter"))
	one, integers := gormplugin.New(base), gormplugin.New(base, gormplugin.WithIntegerKeys())
	several := gormplugin.New(base, gormplugin.WithNamed("public", twitter))
	opaquely := gormplugin.New(opaque{})
	partly := gormplugin.New(base, gormplugin.WithNamed("public", opaque{}))
	since, safe, noLayout := gormplugin.CreatedSince(newYear), snowflake.MustPreset("javascriptsafe"), gormplugin.ErrCondition

	for _, tt := range []struct {
		what   string
		plugin *gormplugin.Plugin
		cond   gormplugin.Created
		model  any
		want   string // or an error
		err    error
	}{
		{"default", one, since, &invoice{}, "default", nil},
		{"key beside a named generator", several, since, &customer{}, "default", nil},
		{"In", several, since.In(safe), &customer{}, "javascript", nil},
		{"named", several, since.On("PublicID"), &customer{}, "twitter", nil},
		{"a tagged integer", several, since.On("number"), &customer{}, "default", nil},
		{"a tagged integer key", one, since, &tagged{}, "default", nil},
		{"foreign key, one layout", one, since.On("customer_id"), &invoice{}, "default", nil},
		{"foreign key, several layouts", several, since.On("customer_id"), &invoice{}, "", noLayout},
		{"key that is a foreign key", one, since, &profile{}, "default", nil},
		{"unknown ID, one layout", one, since.On("other_id"), &invoice{}, "default", nil},
		{"unknown ID, several layouts", several, since.On("other_id"), &invoice{}, "", noLayout},
		{"unknown ID, several layouts, In", several, since.On("other_id").In(safe), &invoice{}, "javascript", nil},
		{"other table, one layout", one, since.On("customers.id"), &invoice{}, "default", nil},
		{"other table, several layouts", several, since.On("customers.id"), &invoice{}, "", noLayout},
		{"auto-increment key", one, since, &counted{}, "", noLayout},
		{"auto-increment key, In", one, since.In(safe), &counted{}, "javascript", nil},
		{"integer that is no ID", one, since.On("cents"), &invoice{}, "", noLayout},
		{"integer keys", integers, since, &counted{}, "default", nil},
		{"generator without a layout", opaquely, since, &invoice{}, "", noLayout},
		{"generator without a layout, In", opaquely, since.In(safe), &invoice{}, "javascript", nil},
		{"another generator without a layout", partly, since, &customer{}, "default", nil},
		{"no plugin", nil, since, &invoice{}, "", noLayout},
		{"no plugin, In", nil, since.In(snowflake.MustPreset("twitter")), &invoice{}, "twitter", nil},
	} {
		t.Run(tt.what, func(t *testing.T) {
			db, _ := openWith(t, testdb.SQLite(t), tt.plugin)
			got, err := usedLayout(t, db, tt.cond, tt.model)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("layout %q, error %v, want %q, %v", got, err, tt.want, tt.err)
			}
			if tt.what == "generator without a layout" && !strings.Contains(err.Error(),
				"the layout of invoices.id is not known, since a gormplugin_test.opaque has no method Layout") {
				t.Errorf("error %v does not name the column and the generator", err)
			}
		})
	}
}

// Keys of a counter lie in the first ticks of every layout. The second one has its epoch at the start of the day on
// which the table was moved to IDs, so no fixed time or tick tells the two apart.
func TestCreatedFindsNoKeysBelowTheLeastID(t *testing.T) {
	const oldKeys = 10_000_000
	today, err := snowflake.NewLayout(hour(0).Add(-time.Minute), time.Millisecond, snowflake.Default().Fields()...)
	noError(t, err)
	parts, err := snowflake.NewLayout(hour(0).Add(-time.Minute), time.Millisecond, snowflake.Clustered().Fields()...)
	noError(t, err)
	for _, layout := range []snowflake.Layout{snowflake.Default(), today, snowflake.Clustered(), parts} {
		for least, old := range map[snowflake.ID]string{oldKeys + 1: "", 0: "XYZ"} {
			negative := strings.Repeat("-", len(old)/3)
			plugin := gormplugin.New(hourly(layout), gormplugin.WithMinID(least))
			db, _ := openWith(t, testdb.SQLite(t), plugin, &parcel{}, &label{})
			must(t, db.Create([]parcel{{ID: -1, Name: "-"}, {ID: 1, Name: "X"}, {ID: 5_000_000, Name: "Y"}, {ID: oldKeys, Name: "Z"}}))
			createParcels(t, db, 5)
			for want, cond := range map[string]clause.Expression{
				old + "abc":             gormplugin.CreatedBefore(hour(3)),
				"cde":                   gormplugin.CreatedSince(hour(2)),
				old + "abcde":           gormplugin.CreatedSince(layout.Epoch()),
				old + "ab":              gormplugin.CreatedBetween(layout.Epoch(), hour(2)),
				old + "a":               gormplugin.CreatedBefore(hour(1)).On("id").In(layout),
				old:                     gormplugin.CreatedBefore(hour(0)),
				negative + old + "abcd": clause.Not(gormplugin.CreatedSince(hour(4))),
			} {
				equal(t, fmt.Sprintf("%+v from %d by %s", cond, least, layout), names(t, db.Where(cond)), want)
			}
		}
	}

	recent := snowflake.MustLayout(time.Now().Add(-time.Minute), time.Millisecond, snowflake.Default().Fields()...)
	named := gormplugin.WithNamed("code", gormtest.New(recent, time.Now(), time.Millisecond))
	// The second is above the IDs of the named generator alone, the last above all IDs.
	for _, least := range []snowflake.ID{-1, 1e15, math.MaxInt64} {
		_, err := gorm.Open(gormdb.Dialector(testdb.SQLite(t)), gormplugin.New(hourly(), named, gormplugin.WithMinID(least)))
		if !errors.Is(err, gormplugin.ErrOption) || !strings.Contains(err.Error(), least.String()) {
			t.Errorf("WithMinID(%d): %v", least, err)
		}
	}
}
