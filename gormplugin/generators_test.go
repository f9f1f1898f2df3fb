package gormplugin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// from returns a counting generator that begins elsewhere than that of env.
func from(id snowflake.ID) *counting { return &counting{next: id} }

// order takes its key from whatever the statement says and its number from its own generator.
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
		f(t, open(t, target, gormdb.Dialector(target), gorm.Config{}, models, opts...))
	})
}

func TestATagNamesTheGenerator(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		named := from(1000)
		db := open(t, target, gormdb.Dialector(target), withoutConstraints, []any{&order{}, &line{}}, gormplugin.WithNamed("numbers", named))
		o := order{Lines: []line{{}, {}}}
		must(t, db.Create(&o))
		equal(t, "key", o.ID, firstID)
		equal(t, "tagged field", o.Public, int64(firstID+1))
		equal(t, "number of the named one", o.Number, 1000)
		equal(t, "key of another model", o.Lines[1].ID, firstID+3)
		m := map[string]any{}
		must(t, db.Model(&order{}).Create(m))
		equal(t, "key in a map", m["id"], any(firstID+4))
		equal(t, "number in a map", m["number"], any(int64(1001)))
		wantCalls(t, named, 1, 1)
		wantCalls(t, db.gen, 2, 2, 2)
	})
}

func TestAGeneratorOfSeveralNamesIsCalledOnceAndTheKeyComesFirst(t *testing.T) {
	type pair struct {
		Before int64 `gorm:"snowflake"`
		ID     snowflake.ID
		A, B   int64 `gorm:"snowflake:a"`
		C      int64 `gorm:"snowflake:c"`
	}
	shared := from(1)
	target := testdb.SQLite(t)
	db := open(t, target, gormdb.Dialector(target), gorm.Config{}, []any{&pair{}},
		gormplugin.WithNamed("a", shared), gormplugin.WithNamed("c", shared))
	pairs := make([]pair, 2)
	must(t, db.Create(&pairs))
	wantCalls(t, shared, 6)
	equal(t, "first", pairs[0], pair{int64(firstID + 1), firstID, 1, 2, 3})
	equal(t, "second", pairs[1], pair{int64(firstID + 3), firstID + 2, 4, 5, 6})
}

// function is a generator that Go cannot compare.
type function func(dst []snowflake.ID)

func (f function) Fill(_ context.Context, dst []snowflake.ID) error { f(dst); return nil }

func TestGeneratorsThatCannotBeComparedWork(t *testing.T) {
	type pair struct {
		ID   snowflake.ID `gorm:"snowflake:f"`
		A, B int64        `gorm:"snowflake:f"`
	}
	next := snowflake.ID(0)
	f := function(func(dst []snowflake.ID) {
		for i := range dst {
			next++
			dst[i] = next
		}
	})
	target := testdb.SQLite(t)
	db := open(t, target, gormdb.Dialector(target), gorm.Config{}, []any{&pair{}}, gormplugin.WithNamed("f", f))
	p := pair{}
	must(t, db.Create(&p))
	if p.ID == 0 || p.A == 0 || p.B == 0 || p.A == p.B {
		t.Errorf("record %+v", p)
	}
}

func TestAFailingSecondGeneratorLeavesNothingOfTheFirst(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		named := from(1000)
		named.err = errEmpty
		db := open(t, target, gormdb.Dialector(target), gorm.Config{}, []any{&order{}, &line{}}, gormplugin.WithNamed("numbers", named))
		orders := make([]order, 2)
		wantError(t, db.Create(&orders).Error, errEmpty)
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

func TestOptionsThatCannotBeRightAreErrorsOfInitialize(t *testing.T) {
	gen := newCounting()
	for name, opts := range map[string][]gormplugin.Option{
		"nil":                   {gormplugin.WithIntegerKeys(), nil},
		"empty name":            {gormplugin.WithNamed("", gen)},
		"name that opts out":    {gormplugin.WithNamed("-", gen)},
		"name of the tag":       {gormplugin.WithNamed("SNOWFLAKE", gen)},
		"name with a semicolon": {gormplugin.WithNamed("a;b", gen)},
		"name with a space":     {gormplugin.WithNamed(" a", gen)},
		"name twice":            {gormplugin.WithNamed("a", gen), gormplugin.WithNamed("a", gen)},
		"no generator":          {gormplugin.WithNamed("a", nil)},
		"lease option in New":   {gormplugin.WithLeaseTable("workers")},
	} {
		db, err := gorm.Open(gormdb.Dialector(testdb.SQLite(t)), &gorm.Config{Logger: &recorder{}}, gormplugin.New(gen, opts...))
		closeAtEnd(t, db)
		if !errors.Is(err, gormplugin.ErrOption) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: error %v, want ErrOption", name, err)
		}
	}
}

func TestRecordsThatLackNothingNeedNoGenerator(t *testing.T) {
	type badge struct {
		ID     snowflake.ID
		Number int64 `gorm:"snowflake:numbers"`
	}
	numbers := newCounting()
	target := testdb.SQLite(t)
	db := open(t, target, gormdb.Dialector(target), gorm.Config{}, []any{&badge{}, &keyed{}},
		gormplugin.WithNamed("numbers", numbers))
	must(t, db.Create(&[]keyed{{ID: 1}, {ID: 2}}))
	must(t, db.Create(&keyed{ID: 3}))
	wantCalls(t, db.gen)
	must(t, db.Create(&[]badge{{Number: 1}, {Number: 2}}))
	wantCalls(t, db.gen, 2)
	wantCalls(t, numbers)
	must(t, db.Create(&badge{ID: 5}))
	wantCalls(t, db.gen)
	wantCalls(t, numbers, 1)
}

func TestAZeroAmongOtherIDsIsAnError(t *testing.T) {
	gen := hourly()
	gen.Pin(0, firstID)
	db, _ := openWith(t, testdb.SQLite(t), gormplugin.New(gen), &user{})
	users := named("a", "b", "c")
	if err := db.Create(&users).Error; err == nil || !strings.Contains(err.Error(), "the ID 0") {
		t.Errorf("error %v, want one about the ID 0", err)
	}
	equal(t, "key of the last", users[2].ID, 0)
}
