package gormplugin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestAParentWhoseInsertCountsNoRowsKeepsItsKey(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		if db.target.Name != "postgres" {
			skip.Inapplicable(t, "a trigger that moves rows is PostgreSQL's way to partition by inheritance")
		}
		must(t, db.Exec("CREATE TABLE cities_2026 () INHERITS (cities)"))
		must(t, db.Exec("CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS "+
			"$$ BEGIN INSERT INTO cities_2026 VALUES (NEW.*); RETURN NULL; END $$"))
		must(t, db.Exec("CREATE TRIGGER move BEFORE INSERT ON cities FOR EACH ROW EXECUTE FUNCTION move()"))
		c := city{Code: "PAR", Name: "Paris", Streets: []street{{Name: "Rue"}}}
		must(t, db.Clauses(nothing).Create(&c))
		wantCities(t, db, c)
	}, &city{}, &street{})
}

func TestAssociationsOfASkippedRecordAreAnErrorAndNoOrphans(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		key := withBerlin(t, db)
		berlin := city{ID: key, Code: "BER", Name: "Berlin"}
		c := city{Code: "BER", Streets: []street{{Name: "Allee"}}}
		err := db.Clauses(nothing).Create(&c).Error
		wantError(t, err, gormplugin.ErrKeyUnknown)
		if err != nil && !strings.Contains(err.Error(), "record 0 of city conflicts with an existing row whose key is unknown, and its Streets") {
			t.Errorf("text %q", err)
		}
		equal(t, "key", c.ID, 0)
		batch := []city{{Code: "PAR"}, {Code: "BER", Streets: []street{{Name: "Allee"}}}}
		wantError(t, db.Clauses(nothing).Create(&batch).Error, gormplugin.ErrKeyUnknown)
		equal(t, "streets", db.count(t, "streets", "1 = 1"), 1)
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
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		if db.target.Name == "postgres" {
			skip.Inapplicable(t, "PostgreSQL has no INSERT IGNORE")
		}
		modifier := "OR IGNORE"
		if db.mysql {
			modifier = "ignore"
		}
		key := withBerlin(t, db)
		one := city{Code: "BER"}
		must(t, db.Clauses(clause.Insert{Modifier: modifier}).Create(&one))
		equal(t, "key", one.ID, 0)
		cities := []city{{Code: "PAR"}, {Code: "BER"}, {Code: "ROM"}}
		must(t, db.Clauses(clause.Insert{Modifier: modifier}).Create(&cities))
		equal(t, "key of the skipped one", cities[1].ID, 0)
		wantCities(t, db, cities[0], cities[2], city{ID: key, Code: "BER", Name: "Berlin"})
	}, &city{}, &street{})
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
		if err := db.Clauses(nothing).Create(&l).Error; !errors.Is(err, gormplugin.ErrKeyUnknown) {
			t.Errorf("%s: error %v, want ErrKeyUnknown", name, err)
		}
	}
	for _, table := range []string{"seals", "labels", "letter_labels"} {
		equal(t, table, db.count(t, table, "1 = 1"), 0)
	}
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
			must(t, db.Clauses(conflict).Create(&c))
			equal(t, "public ID of the row", c.PublicID, first.PublicID)
			equal(t, "foreign key of the association", c.Links[0].CounterPublicID, first.PublicID)
			batch := []counter{{Slug: "b" + conflict.Name()}, {Slug: "a"}}
			batch[0].Slug = fmt.Sprint("b", conflict.UpdateAll)
			must(t, db.Clauses(conflict).Create(&batch))
			equal(t, "public ID of the row in a batch", batch[1].PublicID, first.PublicID)
			equal(t, "rows", db.count(t, "counters", "slug = ? AND public_id = ?", batch[0].Slug, batch[0].PublicID), 1)
		}
		c := counter{Slug: "a"}
		must(t, db.Clauses(nothing).Create(&c))
		equal(t, "public ID of a skipped record", c.PublicID, "")
		c = counter{Slug: "a", Links: []link{{}}}
		wantError(t, db.Clauses(nothing).Create(&c).Error, gormplugin.ErrKeyUnknown)
		equal(t, "orphans", db.count(t, "links", "counter_public_id NOT IN (SELECT public_id FROM counters)"), 0)
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
		must(t, db.Omit("Number", "Serial").Create(&ticket{ID: 17, Slug: "a"}))
		records := []ticket{{Slug: "b"}, {Slug: "a"}}
		upsert := by("slug", "slug")
		must(t, db.Clauses(upsert).Create(&records))
		one := ticket{Slug: "a"}
		must(t, db.Clauses(upsert).Create(&one))
		for _, met := range []ticket{records[1], one} {
			if met.ID != 17 || met.Number != nil || met.Serial != 0 {
				t.Errorf("%+v with the number %v, want the row 17 without a number", met, met.Number)
			}
		}
		if records[0].Number == nil || records[0].Serial == 0 {
			t.Errorf("%+v is new and has no number", records[0])
		}
		for _, c := range []clause.OnConflict{{UpdateAll: true}, upsert} { // the conflict is over the key, or the key is right
			same := ticket{ID: 17, Slug: "a"}
			must(t, db.Clauses(c).Create(&same))
			if same.ID != 17 || same.Number != nil || same.Serial != 0 {
				t.Errorf("%+v with the number %v, want the row 17 without a number", same, same.Number)
			}
		}
		must(t, db.Omit("Number", "Serial").Create(&badge{Name: "x", Slug: "a"}))
		named := badge{Name: "x", Slug: "a"}
		must(t, db.Clauses(upsert).Create(&named))
		if named.Number != nil || named.Serial != 0 {
			t.Errorf("%+v with the number %v, want the row x without a number", named, named.Number)
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
		if two.Number == nil || row.Number == nil || *two.Number != *row.Number {
			t.Errorf("%+v with the number %v, the row has %v", two, two.Number, row.Number)
		}
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
	if err == nil {
		t.Fatal("the CHECK let 10 in")
	}
	equal(t, "mentions in "+err.Error(), strings.Count(err.Error(), "CHECK"), 1)
	equal(t, "key", v.ID, 0)
	if extra := db.log.takeLike("SELECT"); len(extra) > 0 {
		t.Errorf("extra statements: %v", extra)
	}
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
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		key := withBerlin(t, db)
		for range 10 { // Go ranges over a map in any order
			m := map[string]any{"ID": int64(7), "Code": "BER", "Name": "Berlin"}
			must(t, db.Model(&city{}).Clauses(byCode).Create(m))
			if db.target.Name == "mariadb" && m["id"] == nil {
				skip.Inapplicable(t, "MySQL returns no rows")
			}
			equal(t, "id", fmt.Sprint(m["id"]), key.String())
			equal(t, "ID", fmt.Sprint(m["ID"]), "<nil>")
		}
	}, &city{}, &street{})
}
