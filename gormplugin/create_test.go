package gormplugin_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
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

func TestCreateThroughPointersToPointersAndInterfacesIsLikeAStruct(t *testing.T) {
	db := onSQLite(t, &user{})
	u := &user{Name: "ada"}
	must(t, db.Create(&u))
	equal(t, "key", u.ID, firstID)

	var missing *user // GORM makes a new one
	must(t, db.Create(&missing))
	if missing == nil || missing.ID != firstID+1 {
		t.Errorf("a pointer to a nil pointer: %+v", missing)
	}
}

func TestKeysThatAreSetStay(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		users := named("a", "b", "c", "d")
		users[0].ID, users[2].ID = -7, 42
		must(t, db.Create(&users))
		wantCalls(t, db.gen, 2)
		got := []snowflake.ID{users[0].ID, users[1].ID, users[2].ID, users[3].ID}
		if want := []snowflake.ID{-7, firstID, 42, firstID + 1}; !slices.Equal(got, want) {
			t.Errorf("keys %v, want %v", got, want)
		}
		db.wantKeys(t, "users", got...)
	}, &user{})
}

func TestBatchesTakeOneCallEach(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		users := named("a", "b", "c", "d", "e")
		must(t, db.CreateInBatches(&users, 2))
		wantCalls(t, db.gen, 2, 2, 1)
		for i := range users {
			equal(t, "key", users[i].ID, firstID+snowflake.ID(i))
		}

		more := named("f", "g", "h")
		must(t, db.Session(&gorm.Session{CreateBatchSize: 2}).Create(&more))
		wantCalls(t, db.gen, 2, 1)
		equal(t, "rows", db.count(t, "users", "id >= ?", firstID), 8)
	}, &user{})
}

func TestGORMReportsWhatCannotBeCreatedAndNoIDIsDrawn(t *testing.T) {
	cases := []struct {
		name  string
		value func() any // a new one each time: GORM writes into it
		want  error
	}{
		{"nil element", func() any { return []*user{{Name: "a"}, nil} }, gorm.ErrInvalidData},
		{"only nil", func() any { return []*user{nil} }, gorm.ErrInvalidData},
		{"nil slice", func() any { return []user(nil) }, gorm.ErrEmptySlice},
		{"empty slice", func() any { return &[]user{} }, gorm.ErrEmptySlice},
		{"nil slice of pointers", func() any { return []*user(nil) }, gorm.ErrEmptySlice},
		{"nil pointer", func() any { return (*user)(nil) }, gorm.ErrInvalidValue},
		{"empty slice of maps", func() any { return []map[string]any{} }, gorm.ErrEmptySlice},
	}
	db := onSQLite(t, &user{})
	for _, c := range cases {
		for _, tx := range []*gorm.DB{db.Model(&user{}), db.Model(&user{}).Clauses(byCode)} {
			if err := tx.Create(c.value()).Error; !errors.Is(err, c.want) {
				t.Errorf("%s: error %v, want %v", c.name, err, c.want)
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
