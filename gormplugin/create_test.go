package gormplugin_test

import (
	"fmt"
	"reflect"
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
	each(t, func(t *testing.T, db *env) {
		for _, list := range []any{
			ptr(named("a", "b", "c")),
			named("a", "b", "c"),
			&[]*user{{Name: "a"}, {Name: "b"}, {Name: "c"}},
			&[3]user{{Name: "a"}, {Name: "b"}, {Name: "c"}},
			[3]*user{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		} {
			id := db.gen.next
			must(t, db.Create(list))
			wantCalls(t, db.gen, 3)

			records := reflect.Indirect(reflect.ValueOf(list))
			for i, name := range []string{"a", "b", "c"} {
				got := reflect.Indirect(records.Index(i)).FieldByName("ID").Interface()
				equal(t, fmt.Sprintf("key of %s in %T", name, list), got, any(id))
				equal(t, "rows of "+name, db.count(t, "users", "id = ? AND name = ?", id, name), 1)
				id++
			}
		}
	}, &user{})
}

func TestWhatCannotBeCreatedIsAnErrorAndNoIDIsDrawn(t *testing.T) {
	type named struct{ Name string }

	db := onSQLite(t, &user{})
	for _, tx := range []*gorm.DB{db.Model(&user{}), db.Model(&user{}).Clauses(byCode)} {
		tx = tx.Session(&gorm.Session{})
		for _, c := range []struct {
			value any
			want  error
			text  string // empty: GORM's
		}{
			{[]*user{{Name: "a"}, nil}, gorm.ErrInvalidData, ""},
			{[]*user{nil}, gorm.ErrInvalidData, ""},
			{[]user(nil), gorm.ErrEmptySlice, ""},
			{&[]user{}, gorm.ErrEmptySlice, ""},
			{[]*user(nil), gorm.ErrEmptySlice, ""},
			{(*user)(nil), gorm.ErrInvalidValue, ""},
			{[]map[string]any{}, gorm.ErrEmptySlice, ""},
			{user{}, gorm.ErrInvalidValue, "gormplugin: gormplugin_test.user by value cannot take its key, pass a pointer: "},
			{[2]user{{Name: "a"}}, gorm.ErrInvalidValue, "gormplugin: gormplugin_test.user by value cannot take its key"},
			{map[string]any(nil), gorm.ErrInvalidValue, "gormplugin: a nil map cannot take the key of user: "},
			{&named{}, gorm.ErrInvalidValue, "gormplugin: gormplugin_test.named has no snowflake.ID where the model user has ID: "},
			{&[]int{1}, gorm.ErrInvalidData, "gormplugin: []int is not a slice of records of user: "},
		} {
			wantErrorOf(t, fmt.Sprintf("%T", c.value), tx.Create(c.value).Error, c.want, c.text)
		}
	}

	wantFailure(t, "slice of interfaces", db.Create([]any{&user{}}).Error)
	wantCalls(t, db.gen)
	db.wantKeys(t, "users")
}

func TestSaveAndFirstOrCreateFillNewRecordsOnly(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		u := user{Name: "ada"}
		must(t, db.Save(&u))
		wantCalls(t, db.gen, 1)
		u.Name = "ada l."
		must(t, db.Save(&u))

		unknown := user{Model: gormplugin.Model{ID: 77}, Name: "unknown"}
		must(t, db.Save(&unknown)) // an UPDATE that finds nothing, then an INSERT
		wantCalls(t, db.gen)

		both := []user{{Name: "new"}, u}
		must(t, db.Save(&both))
		wantCalls(t, db.gen, 1)

		var found, made user
		must(t, db.FirstOrCreate(&found, user{Name: "new"}))
		must(t, db.FirstOrInit(&user{}, user{Name: "never"}))
		wantCalls(t, db.gen)
		must(t, db.Where(user{Name: "newer"}).Attrs(user{}).FirstOrCreate(&made))
		wantCalls(t, db.gen, 1)

		wantIDs(t, []user{u, unknown, both[0], found, made}, firstID, 77, firstID+1, firstID+1, firstID+2)
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
		tx := db.Session(&gorm.Session{}).Select("Name")
		must(t, tx.Create(&user{Name: "ada"}))
		must(t, tx.Create(&user{Name: "again"}))
		equal(t, "selection afterwards", fmt.Sprint(tx.Statement.Selects), "[Name]")
		tx.Statement.Settings.Range(func(key, _ any) bool {
			if _, gorms := key.(string); !gorms { // GORM's own are strings
				t.Errorf("a setting is left: %T", key)
			}
			return true
		})

		must(t, db.Select("Name").Create(&user{Model: gormplugin.Model{ID: 5}, Name: "bob"}))

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
		wg.Go(func() { wantError(t, shared.Create(&user{Name: "x"}).Error, nil) })
	}
	wg.Wait()

	equal(t, "the session's slice after its end", columns[:2][1], "")
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

	db.wantKeys(t, "items.item_id", 1, 2, 3, firstID, firstID+1)
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
		want         error
	}{
		{&card{}, &dto[*int64, string]{ptr(int64(0)), "7", "a pointer to 0"}, gorm.ErrInvalidValue},
		{&card{}, &dto[*int64, string]{nil, "7", "a nil pointer"}, gorm.ErrInvalidValue},
		{&card{}, []*dto[sqltypes.Text, string]{{5, "7", "texts"}}, gorm.ErrInvalidValue},
		{&card{}, &dto[uuidkey.ID, string]{5, "7", "a UUID"}, gorm.ErrInvalidValue},
		{&card{}, &dto[int64, int64]{5, 7, "a title"}, gorm.ErrInvalidValue},
		{&card{}, &dto[snowflake.ID, int64]{5, 7, "a title beside a key of the same type"}, gorm.ErrInvalidValue},
		{&card{}, &dto[int64, string]{5, "", "no public ID"}, gorm.ErrInvalidValue},
		{&card{}, &struct {
			id             snowflake.ID
			PublicID, Name string
		}{5, "7", "an unexported field"}, gorm.ErrInvalidValue},
		{&card{}, &[]struct{ PublicID, Name string }{{"7", "no key in a slice"}}, gorm.ErrInvalidValue},
		{&label{}, &labelDTO[float64]{5, "a fraction"}, gorm.ErrInvalidValue},
		{&label{}, &labelDTO[int64]{5, "a number"}, gorm.ErrInvalidValue},
		{&card{}, &dto[*int64, string]{ptr(int64(5)), "7", "all IDs"}, nil},
		{&card{}, &[]dto[uint64, *string]{{6, ptr("7"), "all IDs"}}, nil},
		{&label{}, &labelDTO[*sqltypes.Text]{ptr(sqltypes.Text(8)), "the type of the key"}, nil},
	} {
		wantErrorOf(t, fmt.Sprintf("%+v", c.value), db.Model(c.model).Create(c.value).Error, c.want)
	}

	one, many := dto[snowflake.ID, string]{Name: "new"}, []*dto[snowflake.ID, string]{{Name: "b"}, {Name: "c"}}
	create(t, db.Model(&card{}), &one, many)
	equal(t, "record of the types of the model", one, dto[snowflake.ID, string]{firstID, (firstID + 1).String(), "new"})
	db.wantKeys(t, "cards", 5, 6, firstID, firstID+2, firstID+4)
	equal(t, "labels", db.count(t, "labels", "id = ?", sqltypes.Text(8)), 1)
}
