package gormplugin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// from returns a counting generator that begins elsewhere than that of env.
func from(id snowflake.ID) *counting { return &counting{next: id} }

// order takes its key from whatever the statement says and its number from a generator of its own.
type order struct {
	ID     snowflake.ID
	Number int64 `gorm:"snowflake:numbers"`
	Public int64 `gorm:"snowflake"`
	Lines  []line
}

type line struct {
	ID      snowflake.ID
	OrderID snowflake.ID
}

// eachWithOptions runs f on every kind of database with options of the plugin.
func eachWithOptions(t *testing.T, f func(t *testing.T, db *env), models []any, opts ...gormplugin.Option) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		f(t, open(t, target, target.Dialector(), gorm.Config{}, models, opts...))
	})
}

func TestTheTagComesBeforeTheSessionBeforeTheModelBeforeTheDefault(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		named, ofModel, ofSession := from(1000), from(2000), from(3000)
		db := open(t, target, target.Dialector(), withoutConstraints, []any{&order{}, &line{}},
			gormplugin.WithNamed("numbers", named), gormplugin.WithModel(order{}, ofModel))

		o := order{Lines: []line{{}, {}}}
		must(t, db.Create(&o))
		equal(t, "key of the model's generator", o.ID, 2000)
		equal(t, "tagged field of the model's generator", o.Public, 2001)
		equal(t, "number of the named one", o.Number, 1000)
		equal(t, "key of another model", o.Lines[1].ID, firstID+1)

		session := db.Set(gormplugin.SessionGenerator, ofSession).Session(&gorm.Session{})
		o = order{Lines: []line{{}}}
		must(t, session.Create(&o))
		equal(t, "key of the session's generator", o.ID, 3000)
		equal(t, "tagged field of the session's generator", o.Public, 3001)
		equal(t, "number", o.Number, 1001)
		equal(t, "key of an association in the session", o.Lines[0].ID, 3002)

		single := line{}
		must(t, session.Create(&single)) // the short way
		equal(t, "key in the session", single.ID, 3003)
		m := map[string]any{}
		must(t, db.Model(&order{}).Create(m))
		equal(t, "key in a map", m["id"], any(snowflake.ID(2002)))
		equal(t, "number in a map", m["number"], any(int64(1002)))
		must(t, db.Create(&line{}))
		wantCalls(t, named, 1, 1, 1)
		wantCalls(t, ofModel, 2, 2)
		wantCalls(t, ofSession, 2, 1, 1)
		wantCalls(t, db.gen, 2, 1)
		if got := db.Plugins[gormplugin.Name].(*gormplugin.Plugin).Generator(); got != gormplugin.Generator(db.gen) {
			t.Errorf("Generator returns %v, want the default one", got)
		}
	})
}

func TestAGeneratorOfSeveralNamesIsCalledOnce(t *testing.T) {
	type pair struct {
		ID   snowflake.ID
		A, B int64 `gorm:"snowflake:a"`
		C    int64 `gorm:"snowflake:c"`
	}
	shared := from(1)
	db := open(t, testdb.SQLite(t), testdb.SQLite(t).Dialector(), gorm.Config{}, []any{&pair{}},
		gormplugin.WithNamed("a", shared), gormplugin.WithNamed("c", shared))
	pairs := make([]pair, 2)
	must(t, db.Create(&pairs))
	wantCalls(t, shared, 6)
	equal(t, "first", pairs[0], pair{firstID, 1, 2, 3})
	equal(t, "second", pairs[1], pair{firstID + 1, 4, 5, 6})
}

// function is a generator that Go cannot compare.
type function func(dst []snowflake.ID)

func (f function) Fill(_ context.Context, dst []snowflake.ID) error { f(dst); return nil }

func TestGeneratorsThatCannotBeComparedWork(t *testing.T) {
	type pair struct {
		ID   snowflake.ID
		A, B int64 `gorm:"snowflake:f"`
	}
	next := snowflake.ID(0)
	f := function(func(dst []snowflake.ID) {
		for i := range dst {
			next++
			dst[i] = next
		}
	})
	target := testdb.SQLite(t)
	db := open(t, target, target.Dialector(), gorm.Config{}, []any{&pair{}}, gormplugin.WithNamed("f", f))
	p := pair{}
	must(t, db.Set(gormplugin.SessionGenerator, f).Create(&p))
	if p.ID == 0 || p.A == 0 || p.B == 0 || p.A == p.B {
		t.Errorf("record %+v", p)
	}
}

func TestAFailingSecondGeneratorLeavesNothingOfTheFirst(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		named := from(1000)
		named.err = errEmpty
		db := open(t, target, target.Dialector(), gorm.Config{}, []any{&order{}, &line{}}, gormplugin.WithNamed("numbers", named))
		orders := make([]order, 2)
		if err := db.Create(&orders).Error; !errors.Is(err, errEmpty) {
			t.Errorf("error %v, want the generator's", err)
		}
		for _, o := range orders {
			if o.ID != 0 || o.Number != 0 || o.Public != 0 {
				t.Errorf("a record has something: %+v", o)
			}
		}
		m := map[string]any{}
		if err := db.Model(&order{}).Create(m).Error; !errors.Is(err, errEmpty) || len(m) > 0 {
			t.Errorf("map %v with error %v, want none and the generator's", m, err)
		}
		db.wantKeys(t, "orders")
	})
}

func TestASessionsSettingThatIsNoGeneratorIsAnErrorOfCreate(t *testing.T) {
	db := onSQLite(t, &user{})
	var none *counting
	for _, c := range []struct {
		setting any
		want    error
		text    string
	}{
		{"worker 7", gormplugin.ErrOption, "snowflake:generator is a string"},
		{nil, gormplugin.ErrNilGenerator, "snowflake:generator"},
		{none, gormplugin.ErrNilGenerator, "snowflake:generator"},
	} {
		u := user{Name: "a"}
		err := db.Set(gormplugin.SessionGenerator, c.setting).Create(&u).Error
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%#v: error %v, want %v with %q", c.setting, err, c.want, c.text)
		}
		equal(t, "key", u.ID, 0)
	}
	db.wantKeys(t, "users")
}

func TestOptionsThatCannotBeRightAreErrorsOfInitialize(t *testing.T) {
	gen := newCounting()
	var none *counting
	for name, c := range map[string]struct {
		opts []gormplugin.Option
		want error
	}{
		"nil model":               {[]gormplugin.Option{gormplugin.WithModel(nil, gen)}, gormplugin.ErrOption},
		"model that is no struct": {[]gormplugin.Option{gormplugin.WithModel(7, gen)}, gormplugin.ErrOption},
		"slice as a model":        {[]gormplugin.Option{gormplugin.WithModel([]user{}, gen)}, gormplugin.ErrOption},
		"model twice": {
			[]gormplugin.Option{gormplugin.WithModel(user{}, gen), gormplugin.WithModel(&user{}, gen)}, gormplugin.ErrOption,
		},
		"model without a generator": {[]gormplugin.Option{gormplugin.WithModel(user{}, nil)}, gormplugin.ErrNilGenerator},
		"model with a nil pointer":  {[]gormplugin.Option{gormplugin.WithModel(user{}, none)}, gormplugin.ErrNilGenerator},
		"empty name":                {[]gormplugin.Option{gormplugin.WithNamed("", gen)}, gormplugin.ErrOption},
		"name that opts out":        {[]gormplugin.Option{gormplugin.WithNamed("-", gen)}, gormplugin.ErrOption},
		"name of the tag":           {[]gormplugin.Option{gormplugin.WithNamed("SNOWFLAKE", gen)}, gormplugin.ErrOption},
		"name with a semicolon":     {[]gormplugin.Option{gormplugin.WithNamed("a;b", gen)}, gormplugin.ErrOption},
		"name with a space":         {[]gormplugin.Option{gormplugin.WithNamed(" a", gen)}, gormplugin.ErrOption},
		"name twice": {
			[]gormplugin.Option{gormplugin.WithNamed("a", gen), gormplugin.WithNamed("a", gen)}, gormplugin.ErrOption,
		},
		"name without a generator": {[]gormplugin.Option{gormplugin.WithNamed("a", nil)}, gormplugin.ErrNilGenerator},
		"lease in New":             {[]gormplugin.Option{gormplugin.WithLease()}, nil},
		"lease option in New":      {[]gormplugin.Option{gormplugin.WithLeaseTable("workers")}, gormplugin.ErrOption},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := gorm.Open(testdb.SQLite(t).Dialector(), &gorm.Config{Logger: &recorder{}}, gormplugin.New(gen, c.opts...))
			if db != nil && db.Config != nil && db.ConnPool != nil {
				closeAtEnd(t, db)
			}
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "%!") {
				t.Errorf("error %q is not formatted", err)
			}
		})
	}
}
