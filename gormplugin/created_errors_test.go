package gormplugin_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
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
	type texts struct {
		ID string
	}
	type digits struct { // 10 sorts before 9
		ID snowflake.ID `gorm:"type:varchar(20)"`
	}
	type quoted struct {
		ID snowflake.ID `gorm:"serializer:json"`
	}
	db := onSQLite(t, &keyless{}, &twoKeys{}, &texts{}, &digits{}, &quoted{})
	since := gormplugin.CreatedSince(newYear).In(snowflake.Default())
	for what, tt := range map[string]struct {
		tx   *gorm.DB
		want error
	}{
		"no model":           {db.Table("twoKeys").Where(since).Find(&[]map[string]any{}), gorm.ErrModelValueRequired},
		"no model to count":  {db.Table("twoKeys").Where(since).Count(new(int64)), gorm.ErrModelValueRequired},
		"no key":             {db.Where(since).Find(&[]keyless{}), gorm.ErrPrimaryKeyRequired},
		"no prioritized key": {db.Where(since).Delete(&twoKeys{}), gorm.ErrPrimaryKeyRequired},
		"a key of text":      {db.Where(since).Delete(&texts{}), schema.ErrUnsupportedDataType},
		"an ID as text":      {db.Where(since).Delete(&digits{}), schema.ErrUnsupportedDataType},
		"an ID as JSON":      {db.Where(since).Delete(&quoted{}), schema.ErrUnsupportedDataType},
		"a page of texts":    {db.Clauses(gormplugin.Page{Limit: 1}).Find(&[]digits{}), schema.ErrUnsupportedDataType},
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
