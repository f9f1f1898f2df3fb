package gormplugin_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

type user struct {
	gormplugin.Model
	Name string
}

func named(names ...string) []user {
	users := make([]user, len(names))
	for i, name := range names {
		users[i].Name = name
	}
	return users
}

func TestCreateFillsEveryShapeInOrderWithOneCall(t *testing.T) {
	for name, shape := range map[string]func() any{ // a new one for each database
		"slice":                      func() any { return ptr(named("a", "b", "c")) },
		"slice by value":             func() any { return named("a", "b", "c") },
		"slice of pointers":          func() any { return &[]*user{{Name: "a"}, {Name: "b"}, {Name: "c"}} },
		"array":                      func() any { return &[3]user{{Name: "a"}, {Name: "b"}, {Name: "c"}} },
		"array of pointers by value": func() any { return [3]*user{{Name: "a"}, {Name: "b"}, {Name: "c"}} },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, db *env) {
				list := shape()
				must(t, db.Create(list))
				wantCalls(t, db.gen, 3)

				records := reflect.Indirect(reflect.ValueOf(list))
				for i, name := range []string{"a", "b", "c"} {
					id := firstID + snowflake.ID(i)
					equal(t, "key", reflect.Indirect(records.Index(i)).FieldByName("ID").Interface(), any(id))
					equal(t, "rows of "+name, db.count(t, "users", "id = ? AND name = ?", id, name), 1)
				}
			}, &user{})
		})
	}
}

func TestWhatCannotBeCreatedIsAnErrorAndNoIDIsDrawn(t *testing.T) {
	type named struct{ Name string }

	db := onSQLite(t, &user{})
	for _, c := range []struct {
		value func() any // a new one each time: GORM writes into it
		want  error
		text  string // empty: GORM's
	}{
		{func() any { return []*user{{Name: "a"}, nil} }, gorm.ErrInvalidData, ""},
		{func() any { return []*user{nil} }, gorm.ErrInvalidData, ""},
		{func() any { return []user(nil) }, gorm.ErrEmptySlice, ""},
		{func() any { return &[]user{} }, gorm.ErrEmptySlice, ""},
		{func() any { return []*user(nil) }, gorm.ErrEmptySlice, ""},
		{func() any { return (*user)(nil) }, gorm.ErrInvalidValue, ""},
		{func() any { return []map[string]any{} }, gorm.ErrEmptySlice, ""},
		{
			func() any { return user{} }, gorm.ErrInvalidValue,
			"gormplugin: gormplugin_test.user by value cannot take its key, pass a pointer: ",
		},
		{
			func() any { return [2]user{{Name: "a"}} }, gorm.ErrInvalidValue,
			"gormplugin: gormplugin_test.user by value cannot take its key",
		},
		{
			func() any { return map[string]any(nil) }, gorm.ErrInvalidValue,
			"gormplugin: a nil map cannot take the key of user: ",
		},
		{
			func() any { return &named{} }, gorm.ErrInvalidValue,
			"gormplugin: gormplugin_test.named has no snowflake.ID where the model user has ID: ",
		},
		{
			func() any { return &[]int{1} }, gorm.ErrInvalidData,
			"gormplugin: []int is not a slice of records of user: ",
		},
	} {
		for _, tx := range []*gorm.DB{db.Model(&user{}), db.Model(&user{}).Clauses(byCode)} {
			err := tx.Create(c.value()).Error
			if !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), c.text) {
				t.Errorf("%T: error %v, want %q and %v", c.value(), err, c.text, c.want)
			}
		}
	}

	if err := db.Create([]any{&user{}}).Error; err == nil {
		t.Error("slice of interfaces: no error")
	}

	wantCalls(t, db.gen)
	db.wantKeys(t, "users")
}

func TestSaveAndFirstOrCreateFillNewRecordsOnly(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		u := user{Name: "ada"}
		must(t, db.Save(&u))
		equal(t, "key", u.ID, firstID)
		wantCalls(t, db.gen, 1)

		u.Name = "ada l."
		must(t, db.Save(&u))
		wantCalls(t, db.gen)

		unknown := user{Model: gormplugin.Model{ID: 77}, Name: "unknown"}
		must(t, db.Save(&unknown)) // an UPDATE that finds nothing, then an INSERT
		equal(t, "key", unknown.ID, snowflake.ID(77))
		wantCalls(t, db.gen)

		both := []user{{Name: "new"}, u}
		must(t, db.Save(&both))
		wantCalls(t, db.gen, 1)
		equal(t, "key of the new one", both[0].ID, firstID+1)

		var found, made user
		must(t, db.FirstOrCreate(&found, user{Name: "new"}))
		equal(t, "key of the one that is found", found.ID, firstID+1)
		wantCalls(t, db.gen)

		must(t, db.Where(user{Name: "newer"}).Attrs(user{}).FirstOrCreate(&made))
		equal(t, "key of the one that is made", made.ID, firstID+2)
		wantCalls(t, db.gen, 1)

		must(t, db.FirstOrInit(&user{}, user{Name: "never"}))
		wantCalls(t, db.gen)
		db.wantKeys(t, "users", 77, firstID, firstID+1, firstID+2)
	}, &user{})
}

func TestAPointerThatIsThereTwiceIsRefused(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		u := &user{Name: "a"}
		for _, list := range []any{[]*user{u, u}, &[2]*user{u, u}} {
			wantError(t, db.Create(list).Error, gorm.ErrInvalidData)
			equal(t, "key", u.ID, 0)
		}
		db.wantKeys(t, "users")

		must(t, db.Save([]*user{u, u})) // one row, as its conflict clause says
		db.wantKeys(t, "users", u.ID)
	}, &user{})
}

func TestSelectStillWritesTheKey(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		u := user{Name: "ada"}
		tx := db.Session(&gorm.Session{}).Select("Name")
		must(t, tx.Create(&u))
		equal(t, "key", u.ID, firstID)
		must(t, tx.Create(&user{Name: "again"}))
		if !slices.Equal(tx.Statement.Selects, []string{"Name"}) {
			t.Errorf("the statement selects %v afterwards", tx.Statement.Selects)
		}

		tx.Statement.Settings.Range(func(key, _ any) bool {
			if _, gorms := key.(string); !gorms { // GORM's own are strings
				t.Errorf("a setting is left: %T", key)
			}
			return true
		})

		preset := user{Model: gormplugin.Model{ID: 5}, Name: "bob"}
		must(t, db.Select("Name").Create(&preset))

		db.log.take()
		must(t, db.Select([]string{"id", "name"}).Create(&user{Name: "eve"}))
		for _, insert := range db.log.takeLike("INSERT") {
			columns, _, _ := strings.Cut(insert, "VALUES")
			equal(t, "the key's column in "+insert, strings.Count(columns, db.Statement.Quote("id")), 1)
		}

		must(t, db.Table("users").Create(map[string]any{"name": "of no model", "id": 9}))
		must(t, db.Select("*").Create(&user{Name: "kim"}))
		must(t, db.Select("users.name").Create(&user{Name: "lee"}))
		db.wantKeys(t, "users", 5, 9, firstID, firstID+1, firstID+2, firstID+3, firstID+4)
		equal(t, "names", db.count(t, "users", "name IN ?", []string{"ada", "again", "bob", "eve", "kim", "lee"}), 6)
	}, &user{})
}

func TestSelectsOfASharedSessionAreCopied(t *testing.T) {
	db := onSQLite(t, &user{})
	columns := make([]string, 1, 8) // room that an append in place would write to
	columns[0] = "Name"
	shared := db.Select(columns).Session(&gorm.Session{})
	shared.Statement.Selects = columns

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := shared.Create(&user{Name: "x"}).Error; err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()

	if got := columns[:2]; got[1] != "" {
		t.Errorf("the session's slice was written to: %q", got)
	}
	equal(t, "rows", db.count(t, "users", "name = ?", "x"), 8)
}

func TestOmittedKeysAreLeftToTheDatabase(t *testing.T) {
	db := onSQLite(t, &item{}) // whose integer key is the rowid
	i, m := item{Name: "a"}, map[string]any{"Name": "b"}

	must(t, db.Omit("ID").Create(&i))
	equal(t, "key in Go", i.ID, 0)
	must(t, db.Select("Name", "ID").Omit("item_id").Create(&i))
	must(t, db.Model(&item{}).Omit("ID").Create(m))
	equal(t, "entries", len(m), 1)

	wantCalls(t, db.gen)

	must(t, db.Omit("Name").Create(&i))
	equal(t, "key when something else is omitted", i.ID, firstID)

	must(t, db.Model(&item{}).Select("Name").Create(m))
	equal(t, "key in a map with a selection", m["item_id"], any(firstID+1))

	if keys := db.itemKeys(t); !slices.Equal(keys, []int64{1, 2, 3, int64(firstID), int64(firstID + 1)}) {
		t.Errorf("keys %v", keys)
	}
}

// dto has an ID and a public ID where a model has them.
type dto[K, P any] struct {
	ID       K
	PublicID P
	Name     string
}

type labelDTO[K any] struct {
	ID   K
	Note string
}

func TestAValueOfAnotherTypeNeedsEachIDInItsForm(t *testing.T) {
	type card struct {
		ID       snowflake.ID
		PublicID string `gorm:"snowflake;size:19"`
		Name     string
	}
	type label struct {
		ID   sqltypes.Text
		Name string
	}

	db := onSQLite(t, &card{}, &label{})
	for _, c := range []struct {
		model, value any
		fails        bool
	}{
		{&card{}, &dto[*int64, string]{ptr(int64(0)), "7", "a pointer to 0"}, true},
		{&card{}, &dto[*int64, string]{nil, "7", "a nil pointer"}, true},
		{&card{}, []*dto[sqltypes.Text, string]{{5, "7", "texts"}}, true},
		{&card{}, &dto[uuidkey.ID, string]{5, "7", "a UUID"}, true},
		{&card{}, &dto[int64, int64]{5, 7, "a title"}, true},
		{&card{}, &dto[snowflake.ID, int64]{5, 7, "a title beside a key of the same type"}, true},
		{&card{}, &dto[int64, string]{5, "", "no public ID"}, true},
		{&card{}, &struct {
			id             snowflake.ID
			PublicID, Name string
		}{5, "7", "an unexported field"}, true},
		{&card{}, &[]struct{ PublicID, Name string }{{"7", "no key in a slice"}}, true},
		{&label{}, &labelDTO[float64]{5, "a fraction"}, true},
		{&label{}, &labelDTO[int64]{5, "a number"}, true},
		{&card{}, &dto[*int64, string]{ptr(int64(5)), "7", "all IDs"}, false},
		{&card{}, &[]dto[uint64, *string]{{6, ptr("7"), "all IDs"}}, false},
		{&label{}, &labelDTO[*sqltypes.Text]{ptr(sqltypes.Text(8)), "the type of the key"}, false},
	} {
		err := db.Model(c.model).Create(c.value).Error
		if c.fails && !errors.Is(err, gorm.ErrInvalidValue) || !c.fails && err != nil {
			t.Errorf("%+v: error %v, want gorm.ErrInvalidValue: %t", c.value, err, c.fails)
		}
	}

	one, many := dto[snowflake.ID, string]{Name: "new"}, []*dto[snowflake.ID, string]{{Name: "b"}, {Name: "c"}}
	must(t, db.Model(&card{}).Create(&one))
	must(t, db.Model(&card{}).Create(many))

	equal(t, "record of the types of the model", one, dto[snowflake.ID, string]{firstID, (firstID + 1).String(), "new"})
	db.wantKeys(t, "cards", 5, 6, firstID, firstID+2, firstID+4)
	equal(t, "labels", db.count(t, "labels", "id = ?", sqltypes.Text(8)), 1)
}
