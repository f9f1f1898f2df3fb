package gormplugin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestAParentWhoseInsertCountsNoRowsKeepsItsKey(t *testing.T) {
	db := open(t, testdb.Postgres(t), withoutConstraints, []any{&city{}, &street{}})
	db.moveRows(t, "cities")
	c := city{Code: "PAR", Name: "Paris", Streets: []street{{Name: "Rue"}}}
	must(t, db.Clauses(nothing).Create(&c))
	wantCities(t, db, c)
}

func TestAssociationsOfASkippedRecordAreAnErrorAndNoOrphans(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		key := withBerlin(t, db)
		berlin := city{ID: key, Code: "BER", Name: "Berlin"}
		c := city{Code: "BER", Streets: []street{{Name: "Allee"}}}
		wantError(t, db.Clauses(nothing).Create(&c).Error, gormplugin.ErrKeyUnknown,
			"record 0 of city conflicts with an existing row whose key is unknown, and its Streets")
		equal(t, "key", c.ID, 0)
		batch := []city{{Code: "PAR"}, {Code: "BER", Streets: []street{{Name: "Allee"}}}}
		wantError(t, db.Clauses(nothing).Create(&batch).Error, gormplugin.ErrKeyUnknown)
		db.wantKeys(t, "streets", 3)
		wantCities(t, db, berlin) // all is rolled back, Paris too

		for _, tx := range []*gorm.DB{db.Omit("Streets"), db.Omit(clause.Associations), db.Select("Code", "Name")} {
			again := city{Code: "BER", Streets: []street{{Name: "Allee"}}}
			must(t, tx.Clauses(nothing).Create(&again))
			equal(t, "key", again.ID, 0)
		}
		empty := city{Code: "BER", Streets: []street{}}
		must(t, db.Clauses(nothing).Create(&empty))
		wantCities(t, db, berlin)
	}, &city{}, &street{})
}

func TestInsertIgnoreIsLikeDoNothing(t *testing.T) {
	without := slices.Concat(kinds[:1], kinds[2:]) // PostgreSQL has no INSERT IGNORE
	eachOf(t, without, withoutConstraints, func(t *testing.T, db *env) {
		modifier := "OR IGNORE"
		if db.mysql {
			modifier = "ignore"
		}
		key := withBerlin(t, db)
		one, cities := city{Code: "BER"}, []city{{Code: "PAR"}, {Code: "BER"}, {Code: "ROM"}}
		create(t, db.Clauses(clause.Insert{Modifier: modifier}), &one, &cities)
		wantIDs(t, []city{one, cities[1]}, 0, 0)
		wantCities(t, db, cities[0], cities[2], city{ID: key, Code: "BER", Name: "Berlin"})
	}, []any{&city{}, &street{}})
}

func TestAKeyOfTheCallerIsNotInDoubtWhenASkippedRecordLosesAnotherColumn(t *testing.T) {
	type page struct {
		ID     snowflake.ID
		BookID snowflake.ID
	}

	type book struct {
		ID    snowflake.ID
		Code  int64 `gorm:"snowflake"`
		Pages []page
	}

	db := onSQLite(t, &book{}, &page{})
	must(t, db.Create(&book{ID: 5}))
	b := book{ID: 5, Pages: []page{{}}}
	must(t, db.Clauses(nothing).Create(&b))
	equal(t, "code of the skipped record", b.Code, 0)
	equal(t, "pages of the book", db.count(t, "pages", "book_id = 5"), 1)
}

func TestEveryKindOfAssociationOfASkippedRecordIsAnError(t *testing.T) {
	type seal struct {
		ID       snowflake.ID
		LetterID snowflake.ID
	}

	type label struct {
		ID snowflake.ID
	}

	type letter struct {
		ID     snowflake.ID
		Code   string `gorm:"uniqueIndex;size:20"`
		Seal   *seal
		Labels []label `gorm:"many2many:letter_labels"`
	}

	db := onSQLite(t, &letter{}, &seal{}, &label{})
	must(t, db.Create(&letter{Code: "a"}))
	must(t, db.Clauses(nothing).Create(&letter{Code: "a"})) // to which nothing would refer
	for name, l := range map[string]letter{
		"has one":      {Code: "a", Seal: &seal{}},
		"many to many": {Code: "a", Labels: []label{{}}},
	} {
		wantErrorOf(t, name, db.Clauses(nothing).Create(&l).Error, gormplugin.ErrKeyUnknown)
	}

	db.wantCounts(t, map[string]int{"seals": 0, "labels": 0, "letter_labels": 0})
}

// counter has a key of the database and a generated column.
type counter struct {
	ID       uint
	Slug     string `gorm:"size:20;uniqueIndex"`
	Title    string
	PublicID string `gorm:"snowflake;size:20;uniqueIndex"`
	Links    []link `gorm:"references:PublicID;foreignKey:CounterPublicID"`
}

type link struct {
	ID              snowflake.ID
	CounterPublicID string `gorm:"size:20"`
}

func TestAGeneratedColumnBesideAKeyOfTheDatabaseFollowsTheRow(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		first := counter{Slug: "a", Title: "old"}
		must(t, db.Create(&first))
		equal(t, "public ID", first.PublicID, firstID.String())
		for _, conflict := range []clause.OnConflict{
			{Columns: by("slug").Columns, UpdateAll: true},
			by("slug", "title"),
		} {
			c := counter{Slug: "a", Title: "new", Links: []link{{}}}
			batch := []counter{{Slug: fmt.Sprint("b", conflict.UpdateAll)}, {Slug: "a"}}
			create(t, db.Clauses(conflict), &c, &batch)
			got := []string{c.PublicID, c.Links[0].CounterPublicID, batch[1].PublicID}
			equals(t, "public IDs of the row", got, first.PublicID, first.PublicID, first.PublicID)
			equal(t, "rows", db.count(t, "counters", "slug = ? AND public_id = ?", batch[0].Slug, batch[0].PublicID), 1)
		}

		c := counter{Slug: "a"}
		must(t, db.Clauses(nothing).Create(&c))
		equal(t, "public ID of a skipped record", c.PublicID, "")
		c = counter{Slug: "a", Links: []link{{}}}
		wantError(t, db.Clauses(nothing).Create(&c).Error, gormplugin.ErrKeyUnknown)
		db.wantCounts(t, map[string]int{"links WHERE counter_public_id NOT IN (SELECT public_id FROM counters)": 0})
	}, &counter{}, &link{})
}

// ticket has a generated column that is NULL in rows from before it was added.
type ticket struct {
	ID     snowflake.ID  `gorm:"primaryKey;type:int"`
	Slug   string        `gorm:"size:20;uniqueIndex"`
	Number *snowflake.ID `gorm:"snowflake;uniqueIndex"`
	Serial snowflake.ID  `gorm:"snowflake"`
}

// badge has a key that the plugin does not fill.
type badge struct {
	Name   string        `gorm:"primaryKey;size:20"`
	Slug   string        `gorm:"size:20;uniqueIndex"`
	Number *snowflake.ID `gorm:"snowflake;uniqueIndex"`
	Serial snowflake.ID  `gorm:"snowflake"`
}

// GORM leaves a pointer as it is when it scans NULL.
func TestARecordOfARowWithoutTheGeneratedValueHasNone(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		create(t, db.Omit("Number", "Serial"), &ticket{ID: 17, Slug: "a"}, &badge{Name: "x", Slug: "a"})
		upsert := by("slug", "slug")
		records, one, same := []ticket{{Slug: "b"}, {Slug: "a"}}, ticket{Slug: "a"}, ticket{ID: 17, Slug: "a"}
		named := badge{Name: "x", Slug: "a"}
		create(t, db.Clauses(upsert), &records, &one, &same, &named)
		key := ticket{ID: 17, Slug: "a"}
		must(t, db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&key)) // the conflict is over the key
		for _, met := range []ticket{records[1], one, same, key} {
			equal(t, "record of a row without a number", met, ticket{ID: 17, Slug: "a"})
		}
		equal(t, "record without a key of the plugin", named, badge{Name: "x", Slug: "a"})
		if records[0].Number == nil || records[0].Serial == 0 {
			t.Errorf("%+v is new and has no number", records[0])
		}

		// Unless the statement has given the row the value.
		excluded := "excluded.number"
		if db.Name() == "mysql" {
			excluded = "VALUES(number)"
		}
		number := clause.Assignment{Column: clause.Column{Name: "number"}, Value: gorm.Expr(excluded)}
		upsert.DoUpdates = append(clause.Set{number}, upsert.DoUpdates...)
		two := ticket{Slug: "a"}
		must(t, db.Clauses(upsert).Create(&two))
		var row ticket
		must(t, db.Take(&row, 17))
		equal(t, "the row has a number", row.Number != nil, true)
		equal(t, "record", inJSON(t, two), inJSON(t, row))
	}, &ticket{}, &badge{})
}

// vault has a field that GORM writes and never reads, and one that the database fills.
type vault struct {
	ID     snowflake.ID `gorm:"type:int"`
	Name   string       `gorm:"uniqueIndex;size:20"`
	Level  int64        `gorm:"check:level < 9"`
	Code   int64        `gorm:"snowflake;->:false;<-:create"`
	Secret string       `gorm:"->:false;<-;default:(lower('X'))"`
}

func TestAGeneratedColumnThatGORMDoesNotReadFollowsTheRow(t *testing.T) {
	type box struct {
		ID     snowflake.ID `gorm:"type:int"`
		Name   string       `gorm:"uniqueIndex;size:20"`
		Secret string       `gorm:"->:false;<-;default:(lower('X'))"`
	}

	db := onSQLite(t, &vault{}, &box{})
	first, again := vault{Name: "a"}, vault{Name: "a"}
	must(t, db.Create(&first))
	must(t, db.Clauses(by("name", "level")).Create(&again))
	equal(t, "key", again.ID, first.ID)
	equal(t, "code", again.Code, first.Code)
	db.log.take()
	must(t, db.Clauses(byName).Create(&box{Name: "a"}))
	for _, insert := range db.log.takeLike("INSERT") {
		if _, returned, there := strings.Cut(insert, "RETURNING"); !there || strings.Contains(returned, "secret") {
			t.Errorf("%s: want RETURNING without secret", insert)
		}
	}
}

func TestAFailedUpsertTakesTheKeyBackAndAsksNothing(t *testing.T) {
	db := onSQLite(t, &vault{})
	db.log.take()
	v := vault{Name: "a", Level: 10}
	err := db.Clauses(by("name", "level")).Create(&v).Error
	equal(t, fmt.Sprint("mentions in ", err), strings.Count(fmt.Sprint(err), "CHECK"), 1)
	equal(t, "key", v.ID, 0)
	equals(t, "extra statements", db.log.takeLike("SELECT"))
}

// coupon has two generated columns beside its key.
type coupon struct {
	ID     snowflake.ID `gorm:"type:int"`
	Name   string       `gorm:"uniqueIndex;size:20"`
	Code   int64        `gorm:"snowflake"`
	Number int64        `gorm:"snowflake"`
}

func TestAssignmentsOfOtherValuesAreWritten(t *testing.T) {
	db := onSQLite(t, &coupon{})
	must(t, db.Create(&coupon{Name: "a"}))
	again, other := coupon{Name: "a"}, by("name", "id", "code")
	other.DoUpdates = append(other.DoUpdates, clause.Assignment{
		Column: clause.Column{Name: "number"}, Value: clause.Column{Table: "excluded", Name: "code"},
	})
	must(t, db.Clauses(other).Create(&again))
	equal(t, "record", again, coupon{firstID, "a", int64(firstID + 1), int64(firstID + 4)}) // the key and the code stay
	db.wantKeys(t, "coupons", again.ID)
}

func TestAMapWithAFieldsNameTakesTheKeyOfTheRow(t *testing.T) {
	eachWith(t, withoutConstraints, func(t *testing.T, db *env) {
		key := withBerlin(t, db)
		for range 10 { // Go ranges over a map in any order
			m := map[string]any{"ID": int64(7), "Code": "BER", "Name": "Berlin"}
			must(t, db.Model(&city{}).Clauses(byCode).Create(m))
			equal(t, "keys", fmt.Sprint(m["id"], m["ID"]), key.String()+" <nil>")
		}
	}, &city{}, &street{})
}
