package gormplugin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

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
		wantError(t, db.Model(&user{}).Create(values).Error, errEmpty)
		equal(t, "entries of the map", len(values), 1)
		db.gen.err = nil
		tx := db.Session(&gorm.Session{})
		_ = tx.AddError(errEmpty)
		wantError(t, tx.Create(&user{Name: "ada"}).Error, errEmpty)
		wantCalls(t, db.gen, 1, 1)
		db.wantKeys(t, "users")
	}, &user{})
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
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	db := onSQLite(t, &user{})
	type dto struct{ Name string }
	for _, c := range []struct {
		value any
		text  string
		want  error
	}{
		{user{}, "gormplugin: gormplugin_test.user by value cannot take its key, pass a pointer: ", gorm.ErrInvalidValue},
		{[2]user{{Name: "a"}}, "gormplugin: gormplugin_test.user by value cannot take its key", gorm.ErrInvalidValue},
		{map[string]any(nil), "gormplugin: a nil map cannot take the key of user: ", gorm.ErrInvalidValue},
		{&dto{}, "gormplugin: gormplugin_test.dto has no snowflake.ID where the model user has ID: ", gorm.ErrInvalidValue},
		{&[]int{1}, "gormplugin: []int is not a slice of records of user: ", gorm.ErrInvalidData},
	} {
		err := db.Model(&user{}).Create(c.value).Error
		if err == nil || !strings.HasPrefix(err.Error(), c.text) || !errors.Is(err, c.want) {
			t.Errorf("%T: error %v, want %q and %v", c.value, err, c.text, c.want)
		}
	}
	wantCalls(t, db.gen)
	db.wantKeys(t, "users")
}
