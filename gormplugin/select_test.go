package gormplugin_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestSelectStillWritesTheKey(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		u := user{Name: "ada"}
		tx := db.Select("Name")
		must(t, tx.Create(&u))
		equal(t, "key", u.ID, firstID)
		if !slices.Equal(tx.Statement.Selects, []string{"Name"}) {
			t.Errorf("the statement selects %v afterwards", tx.Statement.Selects)
		}

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
		db.wantKeys(t, "users", 5, 9, firstID, firstID+1, firstID+2, firstID+3)
		equal(t, "names", db.count(t, "users", "name IN ?", []string{"ada", "bob", "eve", "kim", "lee"}), 5)
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
	type token struct {
		ID   snowflake.ID `gorm:"primaryKey;type:int"`
		Name string
	}
	db := onSQLite(t, &token{}) // whose integer key is the rowid
	tok := token{Name: "a"}
	must(t, db.Omit("ID").Create(&tok))
	equal(t, "key in Go", tok.ID, 0)
	wantCalls(t, db.gen)
	db.wantKeys(t, "tokens", 1)
	must(t, db.Select("Name", "ID").Omit("id").Create(&tok))
	wantCalls(t, db.gen)
	must(t, db.Omit("Name").Create(&tok))
	equal(t, "key when something else is omitted", tok.ID, firstID)
}
