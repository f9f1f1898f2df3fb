package gormplugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestRowsAreFoundByTheirKeysInEveryForm(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		users := named("a", "b", "c")
		must(t, db.Create(&users))
		id := users[1].ID
		for name, find := range map[string]func(u *user) *gorm.DB{
			"First with an ID":         func(u *user) *gorm.DB { return db.First(u, id) },
			"First with an int64":      func(u *user) *gorm.DB { return db.First(u, id.Int64()) },
			"First with a string":      func(u *user) *gorm.DB { return db.First(u, "id = ?", id.String()) },
			"First with its own key":   func(u *user) *gorm.DB { u.ID = id; return db.First(u) },
			"Find with a list":         func(u *user) *gorm.DB { return db.Find(u, []snowflake.ID{id}) },
			"Where with a struct":      func(u *user) *gorm.DB { w := user{}; w.ID = id; return db.Where(&w).Take(u) },
			"Where with a map":         func(u *user) *gorm.DB { return db.Where(map[string]any{"id": id}).Take(u) },
			"IN":                       func(u *user) *gorm.DB { return db.Where("id IN ?", []snowflake.ID{id, 4}).Take(u) },
			"Not":                      func(u *user) *gorm.DB { return db.Not([]snowflake.ID{users[0].ID, users[2].ID}).Take(u) },
			"Raw":                      func(u *user) *gorm.DB { return db.Raw("SELECT * FROM users WHERE id = ?", id).Scan(u) },
			"named argument":           func(u *user) *gorm.DB { return db.Where("id = @id", map[string]any{"id": id}).Take(u) },
			"condition with a pointer": func(u *user) *gorm.DB { return db.Where("id = ?", &id).Take(u) },
		} {
			var u user
			must(t, find(&u))
			equal(t, name, u.Name, "b")
			equal(t, name+", key", u.ID, id)
		}
		wantCalls(t, db.gen, 3)
	}, &user{})
}

func TestKeysAreReadInEveryForm(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		users := named("a", "b", "c")
		must(t, db.Create(&users))
		var ids []snowflake.ID
		must(t, db.Model(&user{}).Order("id").Pluck("id", &ids))
		equal(t, "Pluck", fmt.Sprint(ids), fmt.Sprint([]snowflake.ID{firstID, firstID + 1, firstID + 2}))

		var one snowflake.ID
		must(t, db.Model(&user{}).Select("max(id)").Scan(&one))
		equal(t, "Scan of one", one, firstID+2)

		var rows []map[string]any
		must(t, db.Model(&user{}).Order("id").Find(&rows))
		equal(t, "map", fmt.Sprint(rows[2]["id"]), (firstID + 2).String())

		var batches []int
		var page []user
		must(t, db.FindInBatches(&page, 2, func(_ *gorm.DB, _ int) error {
			batches = append(batches, len(page))
			return nil
		}))
		equal(t, "FindInBatches", fmt.Sprint(batches), "[2 1]")

		iterator, err := db.Model(&user{}).Order("id").Rows()
		if err != nil {
			t.Fatal(err)
		}
		defer iterator.Close()
		if !iterator.Next() {
			t.Fatal(iterator.Err())
		}
		var first user
		if err := db.ScanRows(iterator, &first); err != nil {
			t.Fatal(err)
		}
		equal(t, "ScanRows", first.ID, firstID)
		text, err := json.Marshal(map[string]any{"id": first.ID})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "JSON", string(text), `{"id":"1000000000000000001"}`)
		wantCalls(t, db.gen, 3)
	}, &user{})
}

func TestTheGenericsAPIFillsMapsAndSetsResults(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		ctx := context.Background()
		for range 2 {
			set := clause.Assignment{Column: clause.Column{Name: "slug"}, Value: "a"}
			if err := gorm.G[article](db.DB).Set(set).Create(ctx); err != nil { // through a map
				t.Fatal(err)
			}
			equal(t, "rows", db.count(t, "articles", "slug = 'a' AND id >= ? AND public_id > id AND code <> ''", firstID), 1)
			must(t, db.Exec("DELETE FROM articles"))
		}
		wantCalls(t, db.gen, 3, 3)
		result := gorm.WithResult()
		many := []article{{Slug: "b"}, {Slug: "c"}}
		if err := gorm.G[article](db.DB, result).CreateInBatches(ctx, &many, 10); err != nil {
			t.Fatal(err)
		}
		equal(t, "rows of WithResult", result.RowsAffected, 2)
		other := article{Slug: "d"}
		if err := gorm.G[article](db.DB).Table("articles").Create(ctx, &other); err != nil {
			t.Fatal(err)
		}
		wantCalls(t, db.gen, 6, 3)
		equal(t, "rows", db.count(t, "articles", "id = ? AND public_id = ?", other.ID, other.PublicID), 1)
	}, &article{})
}

func TestAppendOfAMapReturnsTheKeyInTheMap(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		p := person{Name: "ada"}
		must(t, db.Omit("Passport").Create(&p))
		m, many := map[string]any{"Name": "red"}, []map[string]any{{"Name": "blue"}, {"Name": "green"}}
		tags := db.Model(&p).Association("Tags")
		if err := tags.Append(m); err != nil {
			t.Fatal(err)
		}
		equal(t, "key in the map", m["id"], any(firstID+1))
		if err := tags.Append(&many); err != nil {
			t.Fatal(err)
		}
		equal(t, "join rows", db.count(t, "person_tags", "person_id = ? AND tag_id > ?", p.ID, firstID), 3)
		db.wantNoOrphans(t)
	}, people()...)
}
