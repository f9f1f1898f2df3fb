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

func TestTheGeneratorsErrorStopsCreateAndNothingIsSet(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		db.gen.err = errEmpty
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
		if err := db.Model(&user{}).Create(values).Error; !errors.Is(err, errEmpty) {
			t.Errorf("map: error %v, want the generator's", err)
		}
		equal(t, "entries of the map", len(values), 1)
		db.wantKeys(t, "users")

		db.gen.err = nil
		must(t, db.Create(&users)) // the handle and its connection are usable
		db.wantKeys(t, "users", 5, firstID)
	}, &user{})
}

// failingLater fails from the second call on.
type failingLater struct{ counting }

func (f *failingLater) Fill(ctx context.Context, dst []snowflake.ID) error {
	if len(f.calls) == 1 {
		f.err = errEmpty
	}
	return f.counting.Fill(ctx, dst)
}

func TestAnErrorForAssociationsRollsTheParentBack(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := open(t, target, target.Dialector(), gorm.Config{}, []any{&parent{}, &child{}})
		gen := &failingLater{counting{next: firstID}}
		second, err := gorm.Open(target.Dialector(), &gorm.Config{Logger: db.log}, gormplugin.New(gen))
		if err != nil {
			t.Fatal(err)
		}
		pool, err := second.DB()
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		p := parent{Name: "p", Children: []child{{Name: "c"}}}
		if err := second.Create(&p).Error; !errors.Is(err, errEmpty) {
			t.Errorf("error %v, want the generator's", err)
		}
		wantCalls(t, &gen.counting, 1, 1)
		equal(t, "key of the child", p.Children[0].ID, 0)
		db.wantKeys(t, "parents")
		db.wantKeys(t, "children")
	})
}

func TestAnEarlierErrorOfTheHandleDrawsNoIDs(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		tx := db.Session(&gorm.Session{})
		_ = tx.AddError(errEmpty)
		u := user{Name: "ada"}
		if err := tx.Create(&u).Error; !errors.Is(err, errEmpty) {
			t.Errorf("error %v, want the earlier one", err)
		}
		equal(t, "key", u.ID, 0)
		wantCalls(t, db.gen)
		db.wantKeys(t, "users")
	}, &user{})
}

// lazy reports success without doing anything.
type lazy struct{}

func (lazy) Fill(context.Context, []snowflake.ID) error { return nil }

func TestAGeneratorThatLeavesZerosGetsAnErrorInsteadOfRows(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db, err := gorm.Open(target.Dialector(), &gorm.Config{Logger: &recorder{}}, gormplugin.New(lazy{}))
		if err != nil {
			t.Fatal(err)
		}
		if pool, err := db.DB(); err == nil {
			defer pool.Close()
		}
		if err := db.AutoMigrate(&user{}); err != nil {
			t.Fatal(err)
		}
		users := named("a", "b")
		if err := db.Create(&users).Error; err == nil || !strings.Contains(err.Error(), "the ID 0") {
			t.Errorf("error %v, want one about the ID 0", err)
		}
		var n int64
		must(t, db.Model(&user{}).Count(&n))
		equal(t, "rows", n, 0)
	})
}

type contextKey struct{}

func TestTheGeneratorGetsTheContextOfTheStatement(t *testing.T) {
	db := onSQLite(t, &parent{}, &child{})
	ctx := context.WithValue(t.Context(), contextKey{}, "request 7")
	must(t, db.WithContext(ctx).Create(&parent{Children: []child{{Name: "c"}}}))
	equal(t, "calls", len(db.gen.ctxs), 2)
	for _, got := range db.gen.ctxs {
		equal(t, "value of the context", got.Value(contextKey{}), any("request 7"))
	}

	cancelled, cancel := context.WithCancel(t.Context())
	p := parent{Name: "p"}
	tx := db.Begin()
	cancel()
	if err := tx.WithContext(cancelled).Create(&p).Error; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	must(t, tx.Rollback())
	equal(t, "key", p.ID, 0)
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	db := onSQLite(t, &user{})
	type dto struct{ Name string }
	cases := []struct{ value, want any }{
		{user{}, "gormplugin: gormplugin_test.user by value cannot take its key, pass a pointer: "},
		{map[string]any(nil), "gormplugin: a nil map cannot take the key of user: "},
		{&dto{}, "gormplugin: gormplugin_test.dto has no snowflake.ID where the model user has ID: "},
	}
	for _, c := range cases {
		err := db.Model(&user{}).Create(c.value).Error
		if err == nil || !strings.HasPrefix(err.Error(), c.want.(string)) || !errors.Is(err, gorm.ErrInvalidValue) {
			t.Errorf("%T: error %v, want %q and gorm.ErrInvalidValue", c.value, err, c.want)
		}
	}
	db.wantKeys(t, "users")
}
