package gormplugin_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

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
	letters := strings.Split(found(t, db), "")
	slices.Sort(letters)
	return strings.Join(letters, "")
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
		Mark     string
		ParcelID snowflake.ID
		Parcel   *parcel
	}
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		parcels := createParcels(t, db, 3) // 0:00 to 2:00
		boxes := []box{{Mark: "X", ParcelID: parcels[0].ID}, {Mark: "Y", ParcelID: parcels[2].ID}}
		must(t, db.Create(&boxes))         // 3:00 and 4:00
		find := func(tx *gorm.DB) string { // the boxes, each with the parcel that was loaded
			var found []box
			var text strings.Builder
			must(t, tx.Find(&found))
			for _, b := range found {
				text.WriteString(b.Mark + cmp.Or(b.Parcel, &parcel{}).Name)
			}
			return text.String()
		}

		since, page := gormplugin.CreatedSince, gormplugin.Page{After: boxes[0].ID, Limit: 1}
		equal(t, "with a joined relation", find(db.Joins("Parcel").Where(since(hour(4)))), "Yc")
		equal(t, "a page with a joined relation", find(db.Joins("Parcel").Clauses(page)), "Yc")
		second := gormplugin.Page{After: parcels[0].ID, Limit: 1}
		equal(t, "a page with an alias", found(t, db.Table("parcels AS p").Clauses(second)), "b")
		joined := db.Joins("JOIN boxes ON boxes.parcel_id = parcels.id")
		equal(t, "with a joined table", names(t, joined.Session(&gorm.Session{}).Where(since(hour(1)))), "c")

		// The column of another table, and a foreign key.
		equal(t, "boxes.id", names(t, joined.Where(gormplugin.CreatedBefore(hour(4)).On("boxes.id"))), "a")
		equal(t, "by the foreign key", find(db.Where(since(hour(1)).On("ParcelID"))), "Y")
		// The ON clause of a join is built for no model.
		equal(t, "with a condition of the join", find(db.Joins("Parcel", db.Where(since(hour(1)).On("id"))).Order("boxes.id")), "XYc")
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
			slices.SortFunc(parcels, func(a, b parcel) int { return cmp.Compare(a.ID, b.ID) })
			must(t, db.Create(&parcels))

			for range 60 {
				from, to := instants[rand.IntN(len(instants))].Add(time.Duration(rand.IntN(3)-1)), instants[rand.IntN(len(instants))]
				if to.Before(from) {
					from, to = to, from
				}
				for _, c := range []struct {
					cond     clause.Expression
					from, to time.Time
				}{
					{gormplugin.CreatedBetween(from, to), from, to},
					{gormplugin.CreatedSince(from), from, layout.End()},
					{gormplugin.CreatedBefore(to), layout.Epoch(), to},
				} {
					var want, rest, found, not, or []snowflake.ID
					for _, p := range parcels {
						at := layout.Time(p.ID)
						if p.ID > 0 && !at.Before(c.from) && at.Before(c.to) {
							want = append(want, p.ID)
						} else {
							rest = append(rest, p.ID)
						}
					}
					must(t, db.Model(&parcel{}).Where("weight = 0").Where(c.cond).Order("id").Pluck("id", &found))
					must(t, db.Model(&parcel{}).Not(c.cond).Order("id").Pluck("id", &not))
					must(t, db.Model(&parcel{}).Where("id < 0").Or(c.cond).Order("id").Pluck("id", &or))
					if !slices.Equal(found, want) || !slices.Equal(not, rest) || !slices.Equal(or, append([]snowflake.ID{-1}, want...)) {
						t.Fatalf("from %v to %v: %d, not %d, or %d, want %d and %d", from, to, len(found), len(not), len(or), len(want), len(rest))
					}
				}
			}
		}
	})
}

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
				wantErrorOf(t, what+", "+kind, tx.Error, bad.want)
				equal(t, "rows of "+what+", "+kind, max(tx.RowsAffected, 0), 0)
			}

			_, err := gorm.G[parcel](db).Where(bad.cond).Delete(t.Context())
			wantErrorOf(t, what+", generics", err, bad.want)
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
		wantErrorOf(t, what, tt.tx.Error, tt.want)
	}

	wantFailure(t, "On an unknown column", db.Where(since.On("wrong")).Find(&[]twoKeys{}).Error)
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
	since := gormplugin.CreatedSince(newYear)

	for _, tt := range []struct {
		what   string
		plugin *gormplugin.Plugin
		cond   gormplugin.Created
		model  any
		want   string // the preset by which the condition reads the column
		why    string // its layout is not known, if it is not
	}{
		{"default", one, since, &invoice{}, "default", ""},
		{"key beside a named generator", several, since, &customer{}, "default", ""},
		{"In", several, since.In(snowflake.MustPreset("javascriptsafe")), &customer{}, "javascriptsafe", ""},
		{"named", several, since.On("PublicID"), &customer{}, "twitter", ""},
		{"a tagged integer", several, since.On("number"), &customer{}, "default", ""},
		{"a tagged integer key", one, since, &tagged{}, "default", ""},
		{"foreign key, one layout", one, since.On("customer_id"), &invoice{}, "default", ""},
		{"foreign key, several layouts", several, since.On("customer_id"), &invoice{}, "", "invoices.customer_id is not known, since the generators have"},
		{"key that is a foreign key", one, since, &profile{}, "default", ""},
		{"unknown ID, one layout", one, since.On("other_id"), &invoice{}, "default", ""},
		{"unknown ID, several layouts", several, since.On("other_id"), &invoice{}, "", "invoices.other_id is not known, since the generators have"},
		{"other table, one layout", one, since.On("customers.id"), &invoice{}, "default", ""},
		{"other table, several layouts", several, since.On("customers.id"), &invoice{}, "", "customers.id is not known, since the generators have"},
		{"auto-increment key", one, since, &counted{}, "", "counteds.id is not known, since the plugin does not fill it (uint)"},
		{"integer that is no ID", one, since.On("cents"), &invoice{}, "", "invoices.cents is not known, since the plugin does not fill it (int64)"},
		{"integer keys", integers, since, &counted{}, "default", ""},
		{"generator without a layout", opaquely, since, &invoice{}, "", "invoices.id is not known, since a gormplugin_test.opaque has no method Layout"},
		{"another generator without a layout", partly, since, &customer{}, "default", ""},
		{"no plugin", nil, since, &invoice{}, "", "invoices.id is not known, since the handle has no plugin"},
		{"no plugin, In", nil, since.In(snowflake.MustPreset("twitter")), &invoice{}, "twitter", ""},
	} {
		db, _ := openWith(t, testdb.SQLite(t), tt.plugin)
		tx := db.Session(&gorm.Session{DryRun: true}).Model(tt.model).Where(tt.cond).Find(&[]map[string]any{})
		if tt.want == "" {
			wantErrorOf(t, tt.what, tx.Error, gormplugin.ErrCondition, "the layout of "+tt.why)
			continue
		}
		lo, err := snowflake.MustPreset(tt.want).MinAt(newYear)
		noError(t, errors.Join(err, tx.Error))
		equal(t, "bound of "+tt.what, tx.Statement.Vars[0], any(lo)) // shows the layout
	}
}

// Keys of a counter lie in the first ticks of every layout. The second one has its epoch at the start of the day on
// which the table was moved to IDs, so no fixed time or tick tells the two apart.
func TestCreatedFindsNoKeysBelowTheLeastID(t *testing.T) {
	const oldKeys = 10_000_000
	today := snowflake.MustLayout(hour(0).Add(-time.Minute), time.Millisecond, snowflake.Default().Fields()...)
	parts := snowflake.MustLayout(hour(0).Add(-time.Minute), time.Millisecond, snowflake.Clustered().Fields()...)
	for _, layout := range []snowflake.Layout{snowflake.Default(), today, snowflake.Clustered(), parts} {
		for least, old := range map[snowflake.ID]string{oldKeys + 1: "", 0: "XYZ"} {
			negative := strings.Repeat("-", len(old)/3)
			plugin := gormplugin.New(hourly(layout), gormplugin.WithMinID(least))
			equal(t, "MinID", plugin.MinID(), least)
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
		plugin := gormplugin.New(hourly(), named, gormplugin.WithMinID(least))
		wantError(t, on(t, testdb.SQLite(t)).Use(plugin), gormplugin.ErrOption, least.String())
	}

	equal(t, "MinID without a plugin", (*gormplugin.Plugin)(nil).MinID(), 0)

	// With the sequence above the time the least ID of now is of the sequence 0.
	for least, want := range map[snowflake.ID]error{1e12: nil, 1e16: gormplugin.ErrOption} {
		plugin := gormplugin.New(hourly(snowflake.Scattered()), gormplugin.WithMinID(least))
		wantErrorOf(t, fmt.Sprint("Scattered from ", least), on(t, testdb.SQLite(t)).Use(plugin), want)
	}
}
