package gormplugin_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

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
		must(t, db.Create(&pointed{ID: &seven, Code: "a"}))
		must(t, db.Create(&owned{ID: userID{7}, Code: "a"}))
		must(t, db.Create(&embedded{Head: &keyed{7}, Code: "a"}))

		p := []pointed{{Code: "b"}, {Code: "a"}}
		must(t, db.Clauses(byCode).Create(&p))
		equal(t, "*ID that updated", *p[1].ID, 7)
		equal(t, "*ID that was inserted", *p[0].ID, firstID)
		o := []owned{{Code: "b"}, {Code: "a"}}
		must(t, db.Clauses(byCode).Create(&o))
		equal(t, "own type that updated", o[1].ID, userID{7})
		e := []embedded{{Code: "b"}, {Code: "a"}}
		must(t, db.Clauses(byCode).Create(&e))
		equal(t, "embedded key that updated", e[1].Head.ID, 7)

		p, o, e = []pointed{{Code: "a"}, {Code: "c"}}, []owned{{Code: "a"}, {Code: "c"}}, []embedded{{Code: "a"}, {Code: "c"}}
		must(t, db.Clauses(nothing).Create(&p))
		must(t, db.Clauses(nothing).Create(&o))
		must(t, db.Clauses(nothing).Create(&e))
		if p[0].ID != nil || p[1].ID == nil {
			t.Errorf("*ID after DO NOTHING: %v, %v", p[0].ID, p[1].ID)
		}
		equal(t, "own type that was skipped", o[0].ID, userID{})
		equal(t, "embedded key that was skipped", e[0].Head.ID, 0)
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
		equal(t, "inserted", invoices[0].ID, firstID)
		equal(t, "updated", invoices[1].ID, 30)
		equal(t, "total", db.count(t, "invoices", "id = 30 AND total = 5"), 1)
		preset := []invoice{{TenantID: 4, ID: 30, Number: "n2"}, {TenantID: 4, Number: "n3"}} // 30 is of another tenant
		must(t, db.Clauses(target).Create(&preset))
		equal(t, "updated, with a key", preset[0].ID, firstID)
	}, &invoice{})
}

// LAST_INSERT_ID is unsigned on MySQL: a negative key that was set to it would become the largest key.
func TestAnUpsertThatMeetsANegativeKeyLeavesIt(t *testing.T) {
	type debt struct {
		ID   snowflake.ID `gorm:"primaryKey;type:int"`
		Name string       `gorm:"uniqueIndex;size:20"`
		Note string
	}
	byName := by("name", "note")
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		pool, err := db.DB.DB()
		noError(t, err)
		pool.SetMaxOpenConns(1)
		for _, mode := range []string{"", "STRICT_ALL_TABLES"} {
			if db.mysql {
				must(t, db.Exec("SET sql_mode = ?", mode))
			}
			must(t, db.Where("1 = 1").Delete(&debt{}))
			must(t, db.Create(&[]debt{{ID: -5, Name: "a"}, {ID: -6, Name: "b"}}))
			updated, skipped := debt{Name: "a", Note: "x"}, debt{Name: "a"}
			must(t, db.Clauses(byName).Create(&updated))
			must(t, db.Clauses(nothing).Create(&skipped))
			several := []debt{{Name: "a", Note: "y"}, {Name: "c"}, {Name: "b", Note: "y"}}
			must(t, db.Clauses(byName).Create(&several))
			equal(t, "key of the record that updated a row", updated.ID, -5)
			equal(t, "key of the record that was skipped", skipped.ID, 0)
			equal(t, "key of the first of several", several[0].ID, -5)
			equal(t, "key of the last of several", several[2].ID, -6)
			db.wantKeys(t, "debts", -5, -6, several[1].ID)
			equal(t, "rows that were updated", db.count(t, "debts", "note = ?", "y"), 2)
		}
	}, &debt{})
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
		for _, statement := range db.log.takeLike("INSERT") {
			if strings.Contains(statement, "LAST_INSERT_ID") {
				t.Errorf("a key of text in %s", statement)
			}
		}
		equal(t, "text key", again.ID, first.ID)
		if !db.returning() {
			noTarget := topic{Name: "a", Text: "y"}
			must(t, db.Clauses(clause.OnConflict{DoUpdates: byName.DoUpdates}).Create(&noTarget))
			equal(t, "key without a target", noTarget.ID, 0)
		}
		equal(t, "rows", db.count(t, "topics", "id = ?", first.ID), 1)
	}, &topic{})
}
