package gormplugin_test

import (
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
)

func wantKeyUnknown(t *testing.T, err error) {
	t.Helper()
	wantError(t, err, gormplugin.ErrKeyUnknown)
}

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
		wantKeyUnknown(t, err)
		if err != nil && !strings.Contains(err.Error(), "record 0 of city conflicts with an existing row whose key is unknown, and its Streets") {
			t.Errorf("text %q", err)
		}
		equal(t, "key", c.ID, 0)
		batch := []city{{Code: "PAR"}, {Code: "BER", Streets: []street{{Name: "Allee"}}}}
		wantKeyUnknown(t, db.Clauses(nothing).Create(&batch).Error)
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

func TestASkippedRecordThatOthersReferToIsAnErrorAndNoOrphan(t *testing.T) {
	type keyword struct {
		ID   snowflake.ID `gorm:"primaryKey;type:int"`
		Word string       `gorm:"uniqueIndex;size:20"`
	}
	type article struct {
		ID       snowflake.ID `gorm:"primaryKey;type:int"`
		MainID   snowflake.ID
		Main     *keyword
		Keywords []keyword `gorm:"many2many:article_keywords"`
	}
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		go1 := keyword{Word: "go"}
		must(t, db.Create(&go1))
		// GORM saves both kinds of associations with DO NOTHING, which skips any conflict, not only that of the key.
		for name, a := range map[string]*article{
			"belongs to":   {Main: &keyword{Word: "go"}},
			"many to many": {Main: &keyword{Word: "main"}, Keywords: []keyword{{Word: "sql"}, {Word: "go"}}},
		} {
			wantKeyUnknown(t, db.Create(a).Error)
			equal(t, name+": articles", db.count(t, "articles", "1 = 1"), 0)
			equal(t, name+": keywords", db.count(t, "keywords", "1 = 1"), 1)
			equal(t, name+": join rows", db.count(t, "article_keywords", "1 = 1"), 0)
		}
		must(t, db.Create(&article{Main: &go1, Keywords: []keyword{go1, {Word: "sql"}}}))
		equal(t, "join rows", db.count(t, "article_keywords", "keyword_id IN (SELECT id FROM keywords)"), 2)
	}, &keyword{}, &article{})
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

// hooked has hooks that meddle with keys and clauses.
type hooked struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Code string       `gorm:"uniqueIndex;size:20"`
	Own  snowflake.ID `gorm:"-"`
}

func (h *hooked) BeforeCreate(tx *gorm.DB) error {
	if h.Own != 0 {
		h.ID = h.Own
	}
	return nil
}

// BeforeSave adds a conflict clause.
func (*hooked) BeforeSave(tx *gorm.DB) error {
	tx.Statement.AddClause(nothing)
	return nil
}

func TestAClauseThatAHookAddsCounts(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		first, second := hooked{Code: "a"}, hooked{Code: "a"}
		must(t, db.Create(&first))
		must(t, db.Create(&second))
		equal(t, "key of the inserted one", first.ID, firstID)
		equal(t, "key of the skipped one", second.ID, 0)

		own := []hooked{{Code: "own", Own: 8}, {Code: "own", Own: 9}, {Code: "a"}, {Code: "b"}}
		must(t, db.Create(&own))
		equal(t, "key that a hook has set", own[0].ID, 8)
		equal(t, "key that a hook has set on a skipped record", own[1].ID, 9)
		equal(t, "key that was given to a skipped record", own[2].ID, 0)
		equal(t, "row of the last", db.count(t, "hookeds", "id = ? AND code = 'b'", own[3].ID), 1)
	}, &hooked{})
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
