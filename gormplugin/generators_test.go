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

// order takes its key from whatever the statement says and its number from its own generator.
type order struct {
	ID     snowflake.ID
	Number int64 `gorm:"snowflake:gen=numbers"`
	Public int64 `gorm:"snowflake"`
	Lines  []line
}

type line struct {
	ID      snowflake.ID
	OrderID snowflake.ID
}

func TestATagNamesTheGenerator(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		named := from(1000)
		db := open(t, target, withoutConstraints, []any{&order{}, &line{}}, gormplugin.WithNamed("numbers", named))
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

// function is a generator that Go cannot compare.
type function func(dst []snowflake.ID)

func (f function) Fill(_ context.Context, dst []snowflake.ID) error { f(dst); return nil }

func TestAGeneratorOfSeveralNamesIsCalledOnceAndTheKeyComesFirst(t *testing.T) {
	type pair struct {
		Before int64 `gorm:"snowflake"`
		ID     snowflake.ID
		A, B   int64 `gorm:"snowflake:gen=a"`
		C      int64 `gorm:"snowflake:gen=c"`
	}
	shared := from(1)
	for _, gen := range []gormplugin.Generator{shared, function(func(dst []snowflake.ID) { noError(t, shared.Fill(t.Context(), dst)) })} {
		target := testdb.SQLite(t)
		db := open(t, target, gorm.Config{}, []any{&pair{}},
			gormplugin.WithNamed("a", gen), gormplugin.WithNamed("c", gen))
		pairs := make([]pair, 2)
		must(t, db.Create(&pairs))
		if gen == shared {
			wantCalls(t, shared, 6)
			equal(t, "first", pairs[0], pair{int64(firstID + 1), firstID, 1, 2, 3})
			equal(t, "second", pairs[1], pair{int64(firstID + 3), firstID + 2, 4, 5, 6})
		} else { // one call a field, as far as the plugin knows
			wantCalls(t, shared, 2, 2, 2)
			equal(t, "second", pairs[1], pair{int64(firstID + 3), firstID + 2, 8, 10, 12})
		}
	}
}

func TestWhatCannotBeRightIsAnErrorOfRegistration(t *testing.T) {
	gen, typed := newCounting(), (*counting)(nil)
	with := func(opts ...gormplugin.Option) *gormplugin.Plugin { return gormplugin.New(gen, opts...) }
	for name, plugin := range map[string]*gormplugin.Plugin{
		"nil generator":         gormplugin.New(nil),
		"typed nil generator":   gormplugin.New(typed),
		"nil plugin":            nil,
		"nil":                   with(gormplugin.WithIntegerKeys(), nil),
		"empty name":            with(gormplugin.WithNamed("", gen)),
		"name with a comma":     with(gormplugin.WithNamed("a,b", gen)),
		"name with a semicolon": with(gormplugin.WithNamed("a;b", gen)),
		"name with a space":     with(gormplugin.WithNamed(" a", gen)),
		"name twice":            with(gormplugin.WithNamed("a", gen), gormplugin.WithNamed("a", gen)),
		"no generator":          with(gormplugin.WithNamed("a", nil)),
		"lease option in New":   with(gormplugin.WithLeaseTables("workers_")),
	} {
		db := on(t, testdb.SQLite(t))
		err := db.Use(plugin)
		if !errors.Is(err, gormplugin.ErrOption) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: error %v, want ErrOption", name, err)
		}
		if _, there := db.Plugins["snowflake"]; there {
			t.Errorf("%s: the plugin is registered all the same", name)
		}
	}
}

func TestRecordsThatLackNothingNeedNoGenerator(t *testing.T) {
	type badge struct {
		ID     snowflake.ID
		Number int64 `gorm:"snowflake:gen=numbers"`
	}
	numbers := newCounting()
	target := testdb.SQLite(t)
	db := open(t, target, gorm.Config{}, []any{&badge{}, &keyed{}},
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

var errEmpty = errors.New("no IDs today")

type parent struct {
	ID       snowflake.ID `gorm:"primaryKey"`
	Name     string
	Children []child
}

type child struct {
	ID       snowflake.ID `gorm:"primaryKey"`
	ParentID snowflake.ID
	Name     string
}

func TestTheErrorOfAGeneratorStopsCreateAndNothingIsSet(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		second := from(1000)
		db := open(t, target, gorm.Config{}, []any{&user{}, &order{}, &line{}}, gormplugin.WithNamed("numbers", second))
		db.gen.err, second.err = errEmpty, errEmpty
		users := named("a", "b")
		users[1].ID = 5
		err := db.Create(&users).Error
		if !errors.Is(err, errEmpty) {
			t.Fatalf("error %v, want the generator's", err)
		}
		equal(t, "text", err.Error(), "gormplugin: IDs for user: no IDs today")
		equal(t, "key", users[0].ID, 0)
		equal(t, "key that was set", users[1].ID, 5)
		values := map[string]any{"Name": "c"}
		wantError(t, db.Model(&user{}).Create(values).Error, errEmpty)
		equal(t, "entries of the map", len(values), 1)
		db.gen.err = nil
		tx := db.Session(&gorm.Session{})
		_ = tx.AddError(errEmpty)
		wantError(t, tx.Create(&user{Name: "ada"}).Error, errEmpty)
		wantCalls(t, db.gen, 1, 1)

		orders, m := make([]order, 2), map[string]any{} // of which the first generator has the keys
		wantError(t, db.Create(&orders).Error, errEmpty)
		wantError(t, db.Model(&order{}).Create(m).Error, errEmpty)
		equal(t, "records", inJSON(t, orders), inJSON(t, make([]order, 2)))
		equal(t, "entries of the map", len(m), 0)
		wantCalls(t, db.gen, 4, 2)
		db.wantKeys(t, "users")
		db.wantKeys(t, "orders")
	})
}

type contextKey struct{}

func TestTheGeneratorGetsTheContextOfTheStatement(t *testing.T) {
	db := onSQLite(t, &parent{}, &child{})
	ctx := context.WithValue(t.Context(), contextKey{}, "request 7")
	must(t, db.WithContext(ctx).Create(&parent{Children: []child{{Name: "c"}}}))
	equal(t, "calls", len(db.gen.ctxs.all), 2)
	for _, got := range db.gen.ctxs.all {
		equal(t, "value of the context", got.Value(contextKey{}), any("request 7"))
	}
}

func TestAFailureAnywhereLeavesNoRowNoKeyAndAFreeConnection(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		gen := hourly()
		db, _ := openWith(t, target, gormplugin.New(gen), people()...)
		pool, err := db.DB()
		noError(t, err)
		pool.SetMaxOpenConns(1) // the next statement would wait for a transaction that is left open
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		db = db.WithContext(ctx)
		p := newPerson("ada")
		for _, n := range []int{0, 1, 2, 3} { // IDs of the owner and of what is saved before it and after it
			gen.FailAfter(n, snowflake.ErrLeaseStalled)
			if err := db.Create(&p).Error; !errors.Is(err, snowflake.ErrLeaseStalled) {
				t.Fatalf("error %v, want one that wraps ErrLeaseStalled", err)
			}
			for _, table := range []string{"people", "companies", "passports", "pets", "toys", "tags"} {
				n := int64(-1)
				must(t, db.Table(table).Count(&n))
				equal(t, "rows in "+table, n, 0)
			}
			p = newPerson("ada")
		}
		gen.FailAfter(0, nil)
		must(t, db.Create(&p))
	})
}
