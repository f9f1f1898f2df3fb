package gormplugin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// city has a unique column that is not its key, and parts that refer to it.
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
var byCode = by("code", "name")

// by returns a clause that updates columns of the row with the same value in one.
func by(column string, updates ...string) clause.OnConflict {
	return clause.OnConflict{Columns: []clause.Column{{Name: column}}, DoUpdates: clause.AssignmentColumns(updates)}
}

var nothing = clause.OnConflict{DoNothing: true}

// withBerlin puts the city BER into the database and returns its key.
func withBerlin(t *testing.T, db *env) snowflake.ID {
	t.Helper()
	berlin := city{ID: 17, Code: "BER", Name: "Berlin", Streets: []street{{ID: 3, Name: "Linden"}}}
	must(t, db.Create(&berlin))
	db.gen.calls.take()
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
	db.wantCounts(t, map[string]int{"cities": len(cities), "streets WHERE city_id NOT IN (SELECT id FROM cities)": 0})
}

// wantExtra compares the number of queries that are no INSERTs. MySQL cannot return keys.
func wantExtra(t *testing.T, db *env, others, mysql int) {
	t.Helper()
	want := others
	if db.mysql && !db.returning() {
		want = mysql
	}
	got := db.log.takeLike("SELECT")
	equal(t, fmt.Sprint("number of extra statements ", got), len(got), want)
}

func (e *env) returning() bool { return slices.Contains(e.Callback().Create().Clauses, "RETURNING") }

func TestAnUpsertTakesNoQueriesThatItDoesNotNeed(t *testing.T) {
	for name, c := range map[string]struct {
		conflict     clause.OnConflict
		records      []city
		extra, mysql int // queries that are no INSERTs
	}{
		"update":                    {byCode, []city{{Code: "BER"}}, 0, 1},
		"update with a key":         {byCode, []city{{ID: 99, Code: "BER"}}, 0, 1},
		"update of nothing":         {byCode, []city{{Code: "PAR"}}, 0, 0},
		"update in a batch":         {byCode, []city{{Code: "PAR"}, {Code: "BER"}, {Code: "OSL"}}, 0, 2},
		"skip":                      {nothing, []city{{Code: "BER"}}, 1, 1},
		"skip of a key that is set": {nothing, []city{{ID: 99, Code: "BER"}}, 0, 0},
		"skip of nothing":           {nothing, []city{{Code: "PAR"}}, 0, 0},
		"skip in a batch":           {nothing, []city{{Code: "PAR"}, {Code: "BER"}, {ID: 30, Code: "LON"}}, 1, 1},
		"skip of all":               {nothing, []city{{Code: "BER"}, {Code: "BER"}}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
				withBerlin(t, db)

				records := slices.Clone(c.records) // other databases run at the same time
				if len(records) == 1 {
					must(t, db.Clauses(c.conflict).Create(&records[0]))
				} else {
					must(t, db.Clauses(c.conflict).Create(&records))
				}

				wantExtra(t, db, c.extra, c.mysql)
			}, &city{}, &street{})
		})
	}
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
			equal(t, fmt.Sprint("key of row ", n-i), second[n-i].ID, first[i].ID)
		}
	}, &city{}, &street{})
}

func TestStructsByValueMayUpdateRows(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		withBerlin(t, db)
		must(t, db.Clauses(byCode).Create(city{ID: 99, Code: "BER", Name: "by value"}))
		wantCities(t, db, city{ID: 17, Code: "BER", Name: "by value"})
		c := city{ID: 99, Code: "BER", Name: "by value", Streets: []street{{Name: "Allee"}}}
		wantError(t, db.Clauses(byCode).Create(c).Error, gormplugin.ErrKeyUnknown)
		wantCities(t, db, city{ID: 17, Code: "BER", Name: "by value"})
	}, &city{}, &street{})
}

func TestAnUpsertByTheKeyReturnsNothing(t *testing.T) {
	db := onSQLite(t, &city{}, &street{})
	for _, name := range []string{"id", clause.PrimaryKey} {
		must(t, db.Clauses(by(name, "name")).Create(&city{Code: name}))
	}
	inserts := db.log.takeLike("INSERT")
	equal(t, "INSERTs", len(inserts), 2)
	wantNoText(t, strings.Join(inserts, "\n"), "RETURNING", "ON CONFLICT")
}

func TestAnUpsertWhoseKeyIsOmittedLeavesTheKeyToTheDatabase(t *testing.T) {
	type plot struct {
		ID    snowflake.ID `gorm:"primaryKey;type:int"`
		Code  string       `gorm:"uniqueIndex"`
		Level int
		Grade string `gorm:"default:(upper('x'))"`
	}

	db := onSQLite(t, &plot{})
	must(t, db.Create(&[]plot{{ID: 5, Code: "a", Level: 9, Grade: "A"}, {ID: 6, Code: "b", Grade: "B"}}))

	low := clause.OnConflict{
		Columns: byCode.Columns, DoUpdates: clause.AssignmentColumns([]string{"level"}),
		Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "plots.level < 5"}}},
	}

	one, many := plot{Code: "a", Level: 1}, []plot{{Code: "a", Level: 1}, {Code: "b", Level: 2}, {Code: "c", Level: 3}}
	create(t, db.Omit("ID").Clauses(low), &one, &many)
	equal(t, "key", one.ID, 0)
	// It is not known whose the row is that was returned.
	equals(t, "records", many, plot{Code: "a", Level: 1}, plot{Code: "b", Level: 2}, plot{Code: "c", Level: 3})

	db.wantKeys(t, "plots", 5, 6, 7)
}

func TestKeysOfEveryTypeFollowTheRow(t *testing.T) {
	type pointed struct {
		ID   *snowflake.ID `gorm:"primaryKey;type:int"`
		Code string        `gorm:"uniqueIndex;size:20"`
		Name string
	}
	type owned struct {
		ID   userID `gorm:"primaryKey;type:int;size:64"`
		Code string `gorm:"uniqueIndex;size:20"`
		Name string
	}
	type embedded struct {
		Head *keyed `gorm:"embedded"`
		Code string `gorm:"uniqueIndex;size:20"`
		Name string
	}
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		seven := snowflake.ID(7)
		create(t, db.DB, &pointed{ID: &seven, Code: "a"}, &owned{ID: userID{7}, Code: "a"}, &embedded{Head: &keyed{7}, Code: "a"})
		p, o, e := []pointed{{Code: "b"}, {Code: "a"}}, []owned{{Code: "b"}, {Code: "a"}}, []embedded{{Code: "b"}, {Code: "a"}}
		create(t, db.Clauses(byCode), &p, &o, &e)
		wantIDs(t, p, firstID, 7)
		wantIDs(t, o, firstID+2, 7)
		wantIDs(t, []*keyed{e[0].Head, e[1].Head}, firstID+4, 7)

		p, o, e = []pointed{{Code: "a"}, {Code: "c"}},
			[]owned{{Code: "a"}, {Code: "c"}}, []embedded{{Code: "a"}, {Code: "c"}}
		create(t, db.Clauses(nothing), &p, &o, &e)
		if p[0].ID != nil || p[1].ID == nil {
			t.Errorf("*ID after DO NOTHING: %v, %v", p[0].ID, p[1].ID)
		}
		wantIDs(t, []any{o[0], e[0].Head}, 0, 0) // skipped
		equal(t, "rows", db.count(t, "embeddeds", "id = ? AND code = 'c'", e[1].Head.ID), 1)
	}, &pointed{}, &owned{}, &embedded{})
}

func TestOfACompositeKeyTheIDFollowsTheRow(t *testing.T) {
	type invoice struct {
		TenantID snowflake.ID `gorm:"primaryKey"`
		ID       snowflake.ID `gorm:"primaryKey"`
		Number   string       `gorm:"uniqueIndex;size:20"`
		Total    int
	}

	target := by("number", "total")
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		must(t, db.Create(&invoice{TenantID: 3, ID: 30, Number: "n1"}))

		invoices := []invoice{{TenantID: 3, Number: "n2"}, {TenantID: 3, Number: "n1", Total: 5}}
		must(t, db.Clauses(target).Create(&invoices))
		wantIDs(t, invoices, firstID, 30)
		db.wantCounts(t, map[string]int{"invoices WHERE id = 30 AND total = 5": 1})

		preset := []invoice{{TenantID: 4, ID: 30, Number: "n2"}, {Number: "n3"}} // 30 is of another tenant
		must(t, db.Clauses(target).Create(&preset))
		wantIDs(t, preset[:1], firstID)
		equal(t, "inserted without a tenant", preset[1], invoice{ID: firstID + 2, Number: "n3"})
	}, &invoice{})
}

// LAST_INSERT_ID is unsigned on MySQL: a negative key that was set to it would become the largest key.
func TestAnUpsertThatMeetsANegativeKeyLeavesIt(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		db.pool.SetMaxOpenConns(1)
		for _, mode := range []string{"", "STRICT_ALL_TABLES"} {
			if db.mysql {
				must(t, db.Exec("SET sql_mode = ?", mode))
			}

			must(t, db.Where("1 = 1").Delete(&city{}))
			must(t, db.Create(&[]city{{ID: -5, Code: "a"}, {ID: -6, Code: "b"}}))

			updated, skipped := city{Code: "a", Name: "x"}, city{Code: "a"}
			several := []city{{Code: "a", Name: "y"}, {Code: "c"}, {Code: "b", Name: "y"}}
			must(t, db.Clauses(nothing).Create(&skipped))
			create(t, db.Clauses(byCode), &updated, &several)

			wantIDs(t, []city{updated, skipped, several[0], several[2]}, -5, 0, -5, -6)
			db.wantKeys(t, "cities", -5, -6, several[1].ID)
			db.wantCounts(t, map[string]int{"cities WHERE name = 'y'": 2})
		}
	}, &city{}, &street{})
}

func TestAnUpsertOfATextKeyOnMySQLFindsItsRow(t *testing.T) {
	type topic struct {
		ID   sqltypes.Text `gorm:"primaryKey"`
		Name string        `gorm:"uniqueIndex;size:20"`
		Text string
	}

	byName := by("name", "text")
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		first, again := topic{Name: "a"}, topic{Name: "a", Text: "x"}
		must(t, db.Create(&first))
		must(t, db.Clauses(byName).Create(&again))

		wantNoText(t, strings.Join(db.log.takeLike("INSERT"), "\n"), "LAST_INSERT_ID")
		equal(t, "text key", again.ID, first.ID)

		if !db.returning() {
			noTarget := topic{Name: "a", Text: "y"}
			must(t, db.Clauses(clause.OnConflict{DoUpdates: byName.DoUpdates}).Create(&noTarget))
			equal(t, "key without a target", noTarget.ID, 0)
		}

		equal(t, "rows", db.count(t, "topics", "id = ?", first.ID), 1)
	}, &topic{})
}

// Programs make such lists from the names of all columns. The key that others refer to must not change.
func TestAnUpsertOfAllColumnsKeepsTheKeyOfTheRow(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		key := withBerlin(t, db)
		again := city{Code: "BER", Name: "Stadt"}
		must(t, db.Clauses(by("code", "id", "code", "name")).Create(&again))
		equal(t, "key", again.ID, key)
		wantCities(t, db, city{ID: key, Code: "BER", Name: "Stadt"})

		mixed := []city{{ID: 18, Code: "BER", Name: "moved"}, {Code: "PAR", Name: "Paris"}} // the caller's key is written
		must(t, db.Clauses(by("code", "id", "name")).Create(&mixed))
		for _, c := range mixed {
			equal(t, "rows of "+c.Name, db.count(t, "cities", "id = ? AND name = ?", c.ID, c.Name), 1)
		}
	}, &city{}, &street{})
}
