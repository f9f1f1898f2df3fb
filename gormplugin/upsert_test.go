package gormplugin_test

import (
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
)

// city has a unique column beside its key, and parts that refer to it.
type city struct {
	ID      snowflake.ID `gorm:"primaryKey;type:int"`
	Code    string       `gorm:"uniqueIndex;size:20"`
	Name    string
	Streets []street
}

type street struct {
	ID     snowflake.ID `gorm:"primaryKey;type:int"`
	CityID snowflake.ID
	Name   string
}

// withoutConstraints lets orphans in, so that a test can find them.
var withoutConstraints = gorm.Config{DisableForeignKeyConstraintWhenMigrating: true}

// byCode is the usual upsert: by another unique column than the key.
var byCode = clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}

var nothing = clause.OnConflict{DoNothing: true}

// withBerlin puts the city BER into the database and returns its key.
func withBerlin(t *testing.T, db *env) snowflake.ID {
	t.Helper()
	berlin := city{ID: 17, Code: "BER", Name: "Berlin", Streets: []street{{ID: 3, Name: "Linden"}}}
	must(t, db.Create(&berlin))
	db.gen.takeCalls()
	db.log.take()
	return berlin.ID
}

// wantCities compares the keys in Go with the rows, and looks for orphans.
func wantCities(t *testing.T, db *env, cities ...city) {
	t.Helper()
	for _, c := range cities {
		n := db.count(t, "cities", "id = ? AND code = ? AND name = ?", c.ID, c.Code, c.Name)
		equal(t, fmt.Sprintf("rows that are %d %s %s", c.ID, c.Code, c.Name), n, 1)
		for _, s := range c.Streets {
			equal(t, "rows for the street "+s.Name, db.count(t, "streets", "id = ? AND city_id = ?", s.ID, c.ID), 1)
		}
	}
	equal(t, "cities", db.count(t, "cities", "1 = 1"), int64(len(cities)))
	equal(t, "streets without a city", db.count(t, "streets", "city_id NOT IN (SELECT id FROM cities)"), 0)
}

// wantExtra compares the number of queries beside the INSERTs. MySQL cannot return keys.
func wantExtra(t *testing.T, db *env, others, mysql int) {
	t.Helper()
	want := others
	if db.mysql && !db.returning() {
		want = mysql
	}
	if got := db.log.takeLike("SELECT"); len(got) != want {
		t.Errorf("%d extra statements, want %d: %v", len(got), want, got)
	}
}

func (e *env) returning() bool { return slices.Contains(e.Callback().Create().Clauses, "RETURNING") }

func TestARecordThatUpdatesARowTakesItsKey(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		key := withBerlin(t, db)
		c := city{Code: "BER", Name: "Berlin, Stadt", Streets: []street{{Name: "Allee"}}}
		must(t, db.Clauses(byCode).Create(&c))
		wantExtra(t, db, 0, 1)
		equal(t, "key", c.ID, key)
		equal(t, "key of the street's city", c.Streets[0].CityID, key)
		wantCities(t, db, c)
		equal(t, "streets", db.count(t, "streets", "city_id = ?", key), 2)
	}, &city{}, &street{})
}

func TestARecordThatUpdatesNothingKeepsItsKey(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		key := withBerlin(t, db)
		c := city{Code: "PAR", Name: "Paris", Streets: []street{{Name: "Rue"}}}
		must(t, db.Clauses(byCode).Create(&c))
		wantExtra(t, db, 0, 0)
		equal(t, "key", c.ID, firstID)
		wantCities(t, db, c, city{ID: key, Code: "BER", Name: "Berlin"})
	}, &city{}, &street{})
}

func TestABatchThatUpdatesRowsTakesTheirKeys(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		withBerlin(t, db)
		must(t, db.Create(&city{ID: 19, Code: "ROM", Name: "Roma"}))
		db.log.take()
		cities := []city{
			{Code: "PAR", Name: "Paris", Streets: []street{{Name: "Rue"}}},
			{Code: "ROM", Name: "Rome", Streets: []street{{Name: "Via"}}},
			{Code: "OSL", Name: "Oslo"},
			{Code: "BER", Name: "Berlin II", Streets: []street{{Name: "Allee"}, {Name: "Ring"}}},
			{Code: "LON", Name: "London", Streets: []street{{Name: "Mall"}}},
		}
		must(t, db.Clauses(byCode).Create(&cities))
		wantExtra(t, db, 0, 2)
		for i, want := range []snowflake.ID{firstID, 19, firstID + 2, 17, firstID + 4} {
			equal(t, "key of "+cities[i].Code, cities[i].ID, want)
		}
		wantCities(t, db, cities...)
	}, &city{}, &street{})
}

func TestARowThatIsMetByARecordWithAnotherKeyGivesItsOwn(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		key := withBerlin(t, db)
		c := city{ID: 99, Code: "BER", Name: "Berlin, Stadt", Streets: []street{{Name: "Allee"}}}
		must(t, db.Clauses(byCode).Create(&c))
		equal(t, "key", c.ID, key)
		wantCities(t, db, c)
	}, &city{}, &street{})
}

func TestAConflictTargetOfSeveralColumnsIsFollowed(t *testing.T) {
	type plot struct {
		ID    snowflake.ID `gorm:"primaryKey;type:int"`
		X     int          `gorm:"uniqueIndex:xy"`
		Y     int          `gorm:"uniqueIndex:xy"`
		Owner string
	}
	target := clause.OnConflict{
		Columns:   []clause.Column{{Name: "x"}, {Name: "y"}},
		DoUpdates: clause.AssignmentColumns([]string{"owner"}),
	}
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		must(t, db.Create(&[]plot{{ID: 11, X: 1, Y: 1}, {ID: 12, X: 1, Y: 2}, {ID: 21, X: 2, Y: 1}}))
		plots := []plot{{X: 2, Y: 1, Owner: "a"}, {X: 2, Y: 2, Owner: "b"}, {X: 1, Y: 2, Owner: "c"}}
		must(t, db.Clauses(target).Create(&plots))
		for i, want := range []snowflake.ID{21, firstID + 1, 12} {
			equal(t, "key", plots[i].ID, want)
		}
	}, &plot{})
}

func TestManyUpdatedRowsAreFoundInParts(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		const n = 250
		first, second := make([]city, n), make([]city, n+1)
		for i := range n {
			first[i] = city{ID: snowflake.ID(1000 + i), Code: fmt.Sprintf("C%d", i)}
			second[n-i] = city{Code: first[i].Code, Name: "again"}
		}
		second[0] = city{Code: "new"}
		must(t, db.Create(&first))
		db.log.take()
		must(t, db.Clauses(byCode).Create(&second))
		wantExtra(t, db, 0, 1+3)
		equal(t, "key of the new one", second[0].ID, firstID)
		for i := range n {
			if second[n-i].ID != first[i].ID {
				t.Fatalf("row %d has the key %d, want %d", n-i, second[n-i].ID, first[i].ID)
			}
		}
	}, &city{}, &street{})
}

func TestRowsThatTheWhereOfAnUpdateExcludesGiveTheirKeys(t *testing.T) {
	onlyNew := byCode // MySQL has no such WHERE, and GORM leaves it out
	onlyNew.Where = clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "cities.name <> ?", Vars: []any{"Berlin"}}}}
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		withBerlin(t, db)
		must(t, db.Create(&city{ID: 19, Code: "ROM", Name: "Roma"}))
		one := city{Code: "BER", Name: "other"}
		must(t, db.Clauses(onlyNew).Create(&one))
		equal(t, "key of a single record", one.ID, 17)

		cities := []city{{Code: "BER", Name: "other"}, {Code: "PAR", Name: "Paris"}, {Code: "ROM", Name: "Rome"}}
		must(t, db.Clauses(onlyNew).Create(&cities))
		equal(t, "key of the excluded row", cities[0].ID, 17)
		equal(t, "key of the updated row", cities[2].ID, 19)
		equal(t, "row for the new key", db.count(t, "cities", "id = ? AND code = 'PAR'", cities[1].ID), 1)
	}, &city{}, &street{})
}

func TestStructsByValueMayUpdateRows(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		withBerlin(t, db)
		must(t, db.Clauses(byCode).Create(city{ID: 99, Code: "BER", Name: "by value"}))
		wantCities(t, db, city{ID: 17, Code: "BER", Name: "by value"})
		err := db.Clauses(byCode).Create(city{ID: 99, Code: "BER", Name: "by value", Streets: []street{{Name: "Allee"}}}).Error
		wantKeyUnknown(t, err)
		wantCities(t, db, city{ID: 17, Code: "BER", Name: "by value"})
	}, &city{}, &street{})
}

func TestDryRunOfAnUpsertTakesTheKeyBack(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		withBerlin(t, db)
		for _, conflict := range []clause.OnConflict{byCode, nothing} {
			c := city{Code: "BER"}
			must(t, db.Session(&gorm.Session{DryRun: true}).Clauses(conflict).Create(&c))
			equal(t, "key", c.ID, 0)
		}
	}, &city{}, &street{})
}
