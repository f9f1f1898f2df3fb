package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
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
		lines := []line{{firstID + 2, firstID}, {firstID + 3, firstID}}
		equal(t, "record", inJSON(t, o), inJSON(t, order{firstID, 1000, int64(firstID + 1), lines}))
		m := map[string]any{}
		must(t, db.Model(&order{}).Create(m))
		equal(t, "map", fmt.Sprint(m), fmt.Sprintf("map[id:%d number:1001 public:%d]", firstID+4, firstID+5))
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
		db := open(t, testdb.SQLite(t), gorm.Config{}, []any{&pair{}},
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
		wantErrorOf(t, name, err, gormplugin.ErrOption)
		equal(t, "verbs in "+err.Error(), strings.Contains(err.Error(), "%!"), false)
		equal(t, "plugins in spite of a "+name, len(db.Plugins), 0)
	}
}

func TestRecordsThatLackNothingNeedNoGenerator(t *testing.T) {
	type badge struct {
		ID     snowflake.ID
		Number int64 `gorm:"snowflake:gen=numbers"`
	}

	numbers := newCounting()
	db := open(t, testdb.SQLite(t), gorm.Config{}, []any{&badge{}, &keyed{}},
		gormplugin.WithNamed("numbers", numbers))
	create(t, db.DB, &[]keyed{{ID: 1}, {ID: 2}}, &keyed{ID: 3}, &[]badge{{Number: 1}, {Number: 2}})
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
	wantText(t, fmt.Sprint(db.Create(&users).Error), "the ID 0")
	wantIDs(t, users, 0, 0, 0)
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
		users, values := named("a", "b"), map[string]any{"Name": "c"}
		users[1].ID = 5
		err := db.Create(&users).Error
		wantError(t, err, errEmpty)
		equal(t, "text", fmt.Sprint(err), "gormplugin: IDs for user: no IDs today")
		wantIDs(t, users, 0, 5)
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
	calls := db.gen.ctxs.take()
	equal(t, "calls", len(calls), 2)
	for _, got := range calls {
		equal(t, "value of the context", got.Value(contextKey{}), any("request 7"))
	}
}

func TestAFailureAnywhereLeavesNoRowNoKeyAndAFreeConnection(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		gen, h := hourly(), on(t, target)
		noError(t, h.Use(gormplugin.New(gen)))
		h.migrate(t, people()...)
		h.pool.SetMaxOpenConns(1) // the next statement would wait for a transaction that is left open
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		db := h.WithContext(ctx)
		p := newPerson("ada")
		for n := range 4 { // IDs of the owner and of what is saved before it and after it
			gen.FailAfter(n, snowflake.ErrLeaseStalled)
			wantError(t, db.Create(&p).Error, snowflake.ErrLeaseStalled)
			h.wantCounts(t, map[string]int{"people": 0, "companies": 0, "passports": 0, "pets": 0, "toys": 0, "tags": 0})
			p = newPerson("ada")
		}

		gen.FailAfter(0, nil)
		must(t, db.Create(&p))
	})
}
