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
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// badTimes are conditions that cannot be right, and why.
var badTimes = map[string]struct {
	cond gormplugin.Created
	want error
}{
	"from after to":     {gormplugin.CreatedBetween(hour(2), hour(1)), snowflake.ErrInvalidRange},
	"zero from":         {gormplugin.CreatedBetween(time.Time{}, hour(1)), gormplugin.ErrCondition},
	"zero to":           {gormplugin.CreatedBetween(hour(1), time.Time{}), gormplugin.ErrCondition},
	"since zero":        {gormplugin.CreatedSince(time.Time{}), gormplugin.ErrCondition},
	"before zero":       {gormplugin.CreatedBefore(time.Time{}), gormplugin.ErrCondition},
	"zero Created":      {gormplugin.Created{}, gormplugin.ErrCondition},
	"zero layout":       {gormplugin.CreatedSince(hour(1)).In(snowflake.Layout{}), snowflake.ErrLayout},
	"512 shards on top": {gormplugin.CreatedSince(hour(1)).In(shardFirst), snowflake.ErrFieldOrder},
	"no number":         {gormplugin.CreatedSince(hour(1)).On("name"), schema.ErrUnsupportedDataType},
	"no number, In":     {gormplugin.CreatedSince(hour(1)).On("name").In(snowflake.Default()), schema.ErrUnsupportedDataType},
	"not the plugin's":  {gormplugin.CreatedSince(hour(1)).On("weight"), gormplugin.ErrCondition},
}

var shardFirst = snowflake.MustLayout(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
	snowflake.Field{Name: "shard", Bits: 9}, snowflake.Field{Name: "time", Bits: 41},
	snowflake.Field{Name: "worker", Bits: 1}, snowflake.Field{Name: "sequence", Bits: 12})

// A condition that adds nothing would turn a deletion of some rows into one of all.
func TestABadCreatedStopsTheStatement(t *testing.T) {
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		createParcels(t, db, 3)
		anything := db.Session(&gorm.Session{AllowGlobalUpdate: true})
		for what, bad := range badTimes {
			subquery := db.Model(&parcel{}).Where(bad.cond).Select("id")
			for kind, tx := range map[string]*gorm.DB{
				"find":               db.Where(bad.cond).Find(&[]parcel{}),
				"count":              db.Model(&parcel{}).Where(bad.cond).Count(new(int64)),
				"update by not":      db.Model(&parcel{}).Not(bad.cond).Update("name", "x"),
				"update everything":  anything.Model(&parcel{}).Where(bad.cond).Update("name", "x"),
				"delete by or":       db.Where("weight > 0").Or(bad.cond).Delete(&parcel{}),
				"delete everything":  anything.Delete(&parcel{}, bad.cond),
				"delete by subquery": db.Where("id IN (?)", subquery.Session(&gorm.Session{})).Delete(&parcel{}),
				"delete the others":  db.Where("id NOT IN (?)", subquery.Session(&gorm.Session{})).Delete(&parcel{}),
				"delete by exists":   db.Where("weight >= 0 OR EXISTS (?)", subquery.Session(&gorm.Session{})).Delete(&parcel{}),
			} {
				if !errors.Is(tx.Error, bad.want) {
					t.Errorf("%s, %s: error %v, want %v", what, kind, tx.Error, bad.want)
				}
				if tx.RowsAffected > 0 {
					t.Errorf("%s, %s: %d rows were affected", what, kind, tx.RowsAffected)
				}
			}
			if _, err := gorm.G[parcel](db).Where(bad.cond).Delete(t.Context()); !errors.Is(err, bad.want) {
				t.Errorf("%s, generics: error %v, want %v", what, err, bad.want)
			}
		}
		equal(t, "the rows that are left", names(t, db), "abc")
	}, &parcel{}, &label{})
}

func TestCreatedWithoutAKeyFails(t *testing.T) {
	type keyless struct{ Name string }
	type twoKeys struct {
		LeftID  snowflake.ID `gorm:"primaryKey"`
		RightID snowflake.ID `gorm:"primaryKey"`
	}
	digits := with("ID", snowflake.ID(0), "type:varchar(20)") // 10 sorts before 9
	db := onSQLite(t, &keyless{}, &twoKeys{})
	since := gormplugin.CreatedSince(newYear).In(snowflake.Default())
	for what, tt := range map[string]struct {
		tx   *gorm.DB
		want error
	}{
		"no model":           {db.Table("twoKeys").Where(since).Find(&[]map[string]any{}), gorm.ErrModelValueRequired},
		"no model to count":  {db.Table("twoKeys").Where(since).Count(new(int64)), gorm.ErrModelValueRequired},
		"no key":             {db.Where(since).Find(&[]keyless{}), gorm.ErrPrimaryKeyRequired},
		"no prioritized key": {db.Where(since).Delete(&twoKeys{}), gorm.ErrPrimaryKeyRequired},
		"a key of text":      {db.Where(since).Delete(with("ID", "", "")), schema.ErrUnsupportedDataType},
		"an ID as text":      {db.Where(since).Delete(digits), schema.ErrUnsupportedDataType},
		"an ID as JSON":      {db.Where(since).Delete(with("ID", snowflake.ID(0), "serializer:json")), schema.ErrUnsupportedDataType},
		"a page of texts":    {db.Model(digits).Clauses(gormplugin.Page{Limit: 1}).Find(&[]map[string]any{}), schema.ErrUnsupportedDataType},
		"On one of two":      {db.Where(since.On("left_id")).Find(&[]twoKeys{}), nil},
		"On in a bare table": {db.Table("two_keys").Where(since.On("left_id")).Find(&[]map[string]any{}), nil},
	} {
		if !errors.Is(tt.tx.Error, tt.want) {
			t.Errorf("%s: error %v, want %v", what, tt.tx.Error, tt.want)
		}
	}
	if err := db.Where(since.On("wrong")).Find(&[]twoKeys{}).Error; err == nil {
		t.Error("On an unknown column: no error")
	}
}

func TestCreatedOutsideOfAStatementFails(t *testing.T) {
	var b plainBuilder
	gormplugin.CreatedSince(newYear).In(snowflake.Default()).Build(&b)
	wantError(t, b.err, gorm.ErrInvalidValue)
}

// plainBuilder is a builder that is not GORM's.
type plainBuilder struct {
	strings.Builder
	err error
}

func (b *plainBuilder) WriteQuoted(any)              {}
func (b *plainBuilder) AddVar(clause.Writer, ...any) {}
func (b *plainBuilder) AddError(err error) error     { b.err = err; return err }

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
		PublicID snowflake.ID `gorm:"snowflake:gen=public"`
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
	base, twitter := hourly(), hourly(snowflake.MustPreset("twitter"))
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
		{"other table, one layout", one, since.On("customers.id"), &invoice{}, "default", nil},
		{"other table, several layouts", several, since.On("customers.id"), &invoice{}, "", noLayout},
		{"auto-increment key", one, since, &counted{}, "", noLayout},
		{"integer that is no ID", one, since.On("cents"), &invoice{}, "", noLayout},
		{"integer keys", integers, since, &counted{}, "default", nil},
		{"generator without a layout", opaquely, since, &invoice{}, "", noLayout},
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

	// With the sequence above the time the least ID of now is of the sequence 0.
	for least, want := range map[snowflake.ID]error{1e12: nil, 1e16: gormplugin.ErrOption} {
		plugin := gormplugin.New(hourly(snowflake.Scattered()), gormplugin.WithMinID(least))
		if _, err := gorm.Open(gormdb.Dialector(testdb.SQLite(t)), plugin); !errors.Is(err, want) {
			t.Errorf("WithMinID(%d) for Scattered: %v, want %v", least, err, want)
		}
	}
}
