package gormplugin_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// asset has a tag on fields of every type that can hold an ID, none of which is its key.
type asset struct {
	ID      uint `gorm:"primaryKey"`
	Name    string
	Signed  int64         `gorm:"snowflake"`
	Whole   uint64        `gorm:"snowflake"`
	Text    string        `gorm:"snowflake;size:19"`
	Flake   snowflake.ID  `gorm:"snowflake"`
	Own     userID        `gorm:"snowflake;type:bigint"`
	SignedP *int64        `gorm:"snowflake"`
	TextP   *string       `gorm:"snowflake;size:20"`
	FlakeP  *snowflake.ID `gorm:"snowflake"`
	Plain   int64
}

func TestTaggedFieldsOfEveryTypeAreFilled(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		assets := []asset{{Name: "a"}, {Name: "b", Signed: 5, Text: "no number", TextP: ptr(""), FlakeP: ptr(snowflake.ID(0))}}
		must(t, db.Create(&assets))
		wantCalls(t, db.gen, 14)
		a, b := assets[0], assets[1]
		drawn := []snowflake.ID{
			snowflake.ID(a.Signed), snowflake.ID(a.Whole), parsed(t, a.Text), a.Flake, a.Own.ID,
			snowflake.ID(*a.SignedP), parsed(t, *a.TextP), *a.FlakeP,
			snowflake.ID(b.Whole), b.Flake, b.Own.ID, snowflake.ID(*b.SignedP), parsed(t, *b.TextP), *b.FlakeP,
		}
		for i, got := range drawn {
			equal(t, fmt.Sprint("value ", i), got, firstID+snowflake.ID(i))
		}
		equal(t, "integer that was set", b.Signed, 5)
		equal(t, "text that was set", b.Text, "no number")
		equal(t, "field without a tag", a.Plain, 0)
		equal(t, "key", b.ID, 2) // the database's

		zero := asset{Text: "0", Name: "c"}
		must(t, db.Create(&zero))
		equal(t, "the text 0, which is not empty", zero.Text, "0")

		var back []asset
		must(t, db.Order("id").Find(&back))
		equal(t, "rows", inJSON(t, back), inJSON(t, append(assets, zero)))
	}, &asset{})
}

func TestTaggedFieldsOfMapsHaveTheTypesOfTheModel(t *testing.T) {
	want := map[string]any{
		"signed": int64(firstID), "whole": uint64(firstID + 1), "text": (firstID + 2).String(), "flake": firstID + 3,
		"own": userID{firstID + 4}, "signed_p": int64(firstID + 5), "text_p": (firstID + 6).String(), "flake_p": firstID + 7,
	}

	each(t, func(t *testing.T, db *env) {
		for _, m := range []map[string]any{
			{"Name": "a"},
			{"name": "b", "Signed": 0, "whole": uint64(0), "text": "", "Flake": nil},
		} {
			db.gen.next = firstID
			must(t, db.Model(&asset{}).Create(m))
			equal(t, "entries, with the name and the database's key", len(m), len(want)+2)
			for key, value := range want {
				equal(t, key, m[key], value)
			}
		}

		m := map[string]any{"Signed": 7, "Text": "x", "own": userID{4}, "signed_p": nil, "TextP": "0"}
		must(t, db.Model(&asset{}).Create(m))
		equal(t, "values that were set", fmt.Sprint([]any{m["Signed"], m["Text"], m["own"], m["TextP"]}), "[7 x 4 0]")
		wantCalls(t, db.gen, 8, 8, 4)
	}, &asset{})
}

func TestAStringKeyWorksWithAssociationsAndUpserts(t *testing.T) {
	type chapter struct {
		ID     string `gorm:"primaryKey;size:19;snowflake"`
		BookID string `gorm:"size:19"`
		Title  string
	}
	type genre struct {
		ID   string `gorm:"primaryKey;size:19;snowflake"`
		Name string `gorm:"size:20;uniqueIndex"`
	}
	type book struct {
		ID       string `gorm:"primaryKey;size:19;snowflake"`
		Title    string
		Chapters []chapter
		Genres   []genre `gorm:"many2many:book_genres"`
	}
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		b := book{Title: "t", Chapters: []chapter{{Title: "1"}, {Title: "2"}}, Genres: []genre{{Name: "g"}}}
		must(t, db.Create(&b))
		wantIDs(t, []book{b}, firstID)
		equal(t, "foreign key", b.Chapters[1].BookID, b.ID)
		wantCalls(t, db.gen, 1, 2, 1)

		batch := []genre{{Name: "h"}, {Name: "g"}, {ID: "mine", Name: "i"}}
		must(t, db.Clauses(byName).Create(&batch))
		equal(t, "key of the met row in a batch", batch[1].ID, b.Genres[0].ID)
		equal(t, "key that is no number", batch[2].ID, "mine")
		db.wantCounts(t, map[string]int{
			fmt.Sprintf("book_genres WHERE book_id = '%s' AND genre_id = '%s'", b.ID, b.Genres[0].ID): 1,
			fmt.Sprintf("genres WHERE id IN ('%s', '%s', 'mine')", batch[0].ID, batch[1].ID):          3,
		})
	}, &book{}, &chapter{}, &genre{})
}

// with returns a record of a model with a field, and a key if that is not it.
func with(name string, value any, tag string) any {
	fields := []reflect.StructField{{Name: name, Type: reflect.TypeOf(value), Tag: reflect.StructTag(`gorm:"` + tag + `"`)}}
	if name != "ID" {
		fields = append(fields, reflect.StructField{Name: "ID", Type: reflect.TypeFor[snowflake.ID]()})
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

func TestTagsThatCannotBeFollowedAreErrorsOfCreate(t *testing.T) {
	type referring struct {
		ID       snowflake.ID
		NumberID int64 `gorm:"snowflake"`
		Number   *struct{ ID int64 }
	}

	db := withIntegers(t)
	for _, c := range []struct {
		model any
		want  string
	}{
		{with("ID", snowflake.ID(0), "default:0"), "all rows of  would get the same key ID"},
		{with("ID", userID{}, "type:int;size:64;default:'5'"), "all rows of  would get the same key ID"},
		{with("ID", int64(0), "default:0"), "all rows of  would get the same key ID"},
		{with("ID", userID{}, "type:int"), "type:int of .ID needs size:64 beside it"},
		{with("Value", &userID{}, "snowflake;type:int;size:32"), "type:int of .Value needs size:64 beside it"},
		{with("Value", int32(0), "snowflake"), ".Value needs snowflake.ID, int64, uint64, string or"},
		{with("Value", time.Time{}, "snowflake"), ".Value needs"},
		{with("Value", int64(0), "snowflake;size:32"), ".Value needs an integer of size 64, and the size is 32"},
		{with("Value", "", "snowflake;size:18"), ".Value needs a string of size 19, and the size is 18"},
		{with("Value", int64(0), "snowflake;serializer:json"), ".Value needs"},
		{with("Value", int64(0), "snowflake:gen=nobody"), `.Value names the generator "nobody", which no WithNamed has added`},
		{with("Value", int64(0), "snowflake:gen="), ".Value has an empty name"},
		{with("Value", int64(0), "snowflake:numbers"), `.Value says "numbers"; a generator of WithNamed is written snowflake:gen=numbers`},
		{with("Value", int64(0), "snowflake:"), `.Value says ""; a generator of WithNamed is written snowflake:gen=name`},
		{with("Value", int64(0), "snowflake;default:7"), ".Value is beside default or autoIncrement"},
		{with("ID", int64(0), "snowflake;autoIncrement"), ".ID is beside default or autoIncrement"},
		{with("Value", int64(0), "snowflake;->"), ".Value is on a field that GORM does not write"},
		{with("Value", int64(0), "snowflake;-"), ".Value is on a field that GORM does not write"},
		{with("Inner", struct{ Value int64 }{}, "embedded;snowflake"), ".Value is on an embedded struct"},
		{&referring{}, "referring.NumberID is on the foreign key of a belongs-to relation"},
	} {
		wantErrorOf(t, fmt.Sprintf("%T", c.model), db.DryRun().Create(c.model).Error, gormplugin.ErrTag, c.want)
		wantError(t, gormplugin.DisableAutoIncrement(db.DB, c.model), gormplugin.ErrTag)
	}

	wantCalls(t, db.gen)
}

func (e *env) DryRun() *gorm.DB { return e.Session(&gorm.Session{DryRun: true}) }

var byName = by("name", "name")

func ptr[T any](v T) *T { return &v }

func parsed(t *testing.T, s string) snowflake.ID {
	t.Helper()
	id, err := snowflake.Parse(s)
	noError(t, err)
	return id
}

type item struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int;column:item_id"`
	Name string
}

func TestKeysInMapsStayUnderEitherName(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		id := snowflake.ID(4)
		for i, key := range []any{
			1, snowflake.ID(2), int64(-3), &id, "5", json.Number("6"), 7.0, uint32(8), sql.NullInt64{Int64: 9, Valid: true},
		} {
			m := map[string]any{[]string{"ID", "item_id"}[i%2]: key}
			must(t, db.Model(&item{}).Create(m))
			equal(t, "entries", len(m), 1)
		}

		must(t, db.Model(&item{}).Create(map[string]any{"item_id": clause.Expr{SQL: "9 + 1"}}))
		wantCalls(t, db.gen)
		db.wantKeys(t, "items.item_id", -3, 1, 2, 4, 5, 6, 7, 8, 9, 10)
	}, &item{})
}

func TestZerosInMapsAreNoKeys(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		var none *snowflake.ID
		zero := snowflake.ID(0)
		zeros := []any{
			0, none, nil, (*int64)(nil), snowflake.ID(0), &zero, 0.0, "0", uint(0),
			sql.NullInt64{},
			json.Number("0"),
			(*pointed)(nil), unsigned(0), &pointed{},
		}
		keys := []snowflake.ID{5}
		for i, key := range zeros {
			m := map[string]any{[]string{"ID", "item_id"}[i%2]: key}
			values := []any{m, &m}
			must(t, db.Model(&item{}).Create(values[i/2%2]))
			keys = append(keys, firstID+snowflake.ID(i))
			equal(t, "map, without a second spelling", fmt.Sprint(m), fmt.Sprintf("map[item_id:%d]", keys[i+1]))
		}
		slice := []map[string]any{{"ID": 0, "Name": "a"}, {"Name": "b"}, nil, {"item_id": 5}}
		must(t, db.Model(&item{}).Create(slice))
		wantCalls(t, db.gen, append(slices.Repeat([]int{1}, len(zeros)), 3)...)
		equal(t, "key of the nil map", slice[2]["item_id"], any(firstID+16))
		db.wantKeys(t, "items.item_id", append(keys, firstID+14, firstID+15, firstID+16)...)

		var empty map[string]any
		must(t, db.Model(&item{}).Create(&empty))
		equal(t, "key of the map that was nil", empty["item_id"], any(firstID+17))
		must(t, db.Model(&item{}).CreateInBatches(&[]map[string]any{{"Name": "g"}, {"Name": "h"}, {"Name": "i"}}, 2))
		wantCalls(t, db.gen, 1, 2, 1)
	}, &item{})
}

// broken is a value that cannot be had.
type broken struct{}

var errBroken = errors.New("broken")

func (broken) Value() (driver.Value, error) { return nil, errBroken }

// endless is a value whose value is a value.
type endless struct{}

func (e endless) Value() (driver.Value, error) { return e, nil }

func TestKeysInMapsThatHaveNoValueAreErrorsOfTheDriver(t *testing.T) {
	db := onSQLite(t, &keyed{})
	wantError(t, db.Model(&keyed{}).Create(map[string]any{"id": broken{}}).Error, errBroken)
	silent := db.Session(&gorm.Session{Logger: logger.Discard}) // GORM's follow such values without an end
	wantFailure(t, "a value without an end", silent.Model(&keyed{}).Create(map[string]any{"id": endless{}}).Error)
	wantCalls(t, db.gen)
}
