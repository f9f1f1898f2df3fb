package gormplugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// A record that kept its key would be updated by Save.
func TestADryRunTakesItsKeysBack(t *testing.T) {
	type log struct {
		ID   snowflake.ID
		Root int64
		Size int `gorm:"->"`
	}
	type entry struct {
		ID   snowflake.ID
		Root int64
	}
	each(t, func(t *testing.T, db *env) {
		records := func() []person {
			boss := &person{Name: "bob", Company: &company{Name: "acme"}}
			return []person{
				{
					Name: "ada", Company: &company{Name: "ltd"}, Manager: boss, Passport: passport{Number: "1"},
					Pets: []*pet{{Name: "cat", Toys: []toy{{Name: "ball"}}}}, Tags: []tag{{Name: "red"}},
				},
				{ID: 5, Name: "eve", Company: &company{ID: 6}, Pets: []*pet{{ID: 7}}, Manager: boss},
			}
		}
		dry, want := records(), records()
		text := db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&dry) })
		if !strings.Contains(text, firstID.String()) {
			t.Errorf("no key in %s", text)
		}
		companyID := snowflake.ID(6) // references to keys that were set stay, as GORM sets them
		want[1].CompanyID, want[1].Pets[0].PersonID, want[0].Pets[0].Toys[0].OwnerType = &companyID, 5, "pets"
		equal(t, "records after a dry run", inJSON(t, dry), inJSON(t, want))
		must(t, db.Save(&dry))
		db.wantNoOrphans(t)
		m := map[string]any{"root": 3}
		must(t, db.Session(&gorm.Session{DryRun: true}).Model(&log{}).Create(m))
		equal(t, "map", fmt.Sprint(m), "map[root:3]")
		other := entry{Root: 4}
		must(t, db.Session(&gorm.Session{DryRun: true}).Model(&log{}).Create(&other))
		equal(t, "record of another type", other, entry{Root: 4})
		short := []struct{ ID snowflake.ID }{{}}
		must(t, db.Session(&gorm.Session{DryRun: true}).Model(&log{}).Omit("Root").Create(&short))
		must(t, db.Session(&gorm.Session{DryRun: true}).Model(&log{}).Select("ID").Create(&short[0]))
		equal(t, "key of a record without the fields that are not written", short[0].ID, 0)
	}, people()...)
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	noError(t, err)
	return string(text)
}

func TestARetryKeepsTheKey(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		u := user{Name: "ada"}
		first := db.Transaction(func(tx *gorm.DB) error {
			must(t, tx.Create(&u))
			return errEmpty
		})
		if !errors.Is(first, errEmpty) {
			t.Fatal(first)
		}
		db.wantKeys(t, "users")
		must(t, db.Create(&u))
		equal(t, "key", u.ID, firstID)
		wantCalls(t, db.gen, 1)
		if err := db.Create(&u).Error; err == nil {
			t.Error("the same record twice is no error")
		}
		equal(t, "key after a duplicate", u.ID, firstID)
		db.wantKeys(t, "users", firstID)
	}, &user{})
}

func TestConcurrentCreatesGetKeysOfTheirOwn(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		if db.target.Name == "sqlite" {
			if pool, err := db.DB.DB(); err == nil {
				pool.SetMaxOpenConns(1)
			}
		}
		const workers, rounds = 4, 8
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range rounds {
					p := parent{Name: "p", Children: []child{{Name: "c"}, {Name: "d"}}}
					if err := db.Select("Name", "Children").Create(&p).Error; err != nil {
						t.Error(err)
					}
					if p.Children[1].ParentID != p.ID || p.Children[1].ID == p.Children[0].ID {
						t.Errorf("keys are mixed up: %+v", p)
					}
				}
			})
		}
		wg.Wait()
		equal(t, "parents", db.count(t, "parents", "id >= ?", firstID), workers*rounds)
		equal(t, "children", db.count(t, "children", "parent_id IN (SELECT id FROM parents)"), 2*workers*rounds)
	}, &parent{}, &child{})
}

// GORM writes to the relations of child when it parses parent, partly without a lock. The race detector sees if the
// plan of child reads those parts. Nothing here may order the two goroutines: no transaction, and no create of a
// parent.
func TestModelsMayBeParsedWhileOthersAreCreated(t *testing.T) {
	db := onSQLite(t)
	tx := db.Session(&gorm.Session{DryRun: true, SkipDefaultTransaction: true, NewDB: true})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := (&gorm.Statement{DB: tx}).Parse(&parent{}); err != nil {
			t.Error(err)
		}
	})
	wg.Go(func() {
		time.Sleep(20 * time.Millisecond)
		if err := tx.Create(&child{Name: "c"}).Error; err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
}

func TestAHandleThatIsUsedAgainHasItsStatementAsItWas(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		tx := db.Session(&gorm.Session{}).Select("Name")
		must(t, tx.Create(&user{Name: "a"}))
		must(t, tx.Create(&user{Name: "b"}))
		equal(t, "selected columns", strings.Join(tx.Statement.Selects, ","), "Name")
		tx.Statement.Settings.Range(func(key, _ any) bool {
			if _, gorms := key.(string); !gorms { // GORM's own are strings
				t.Errorf("a setting is left: %T", key)
			}
			return true
		})
		db.wantKeys(t, "users", firstID, firstID+1)
	}, &user{})
}

func TestTheGenericsAPIIsFilledAsWell(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		ctx := context.Background()
		u := user{Name: "a"}
		noError(t, gorm.G[user](db.DB).Create(ctx, &u))
		equal(t, "Create", u.ID, firstID)
		many := named("b", "c", "d")
		noError(t, gorm.G[user](db.DB).CreateInBatches(ctx, &many, 2))
		equal(t, "CreateInBatches", many[2].ID, firstID+3)
		v := user{Name: "e"}
		noError(t, gorm.G[user](db.DB).Select("Name").Create(ctx, &v))
		equal(t, "Select", v.ID, firstID+4)
		noError(t, gorm.G[user](db.DB).Table("users").Create(ctx, &user{Name: "f"}))
		result := gorm.WithResult()
		noError(t, gorm.G[user](db.DB, result).Create(ctx, &user{Name: "g"}))
		equal(t, "rows of WithResult", result.RowsAffected, 1)
		found, err := gorm.G[user](db.DB).Where("id = ?", firstID).First(ctx)
		noError(t, err)
		equal(t, "First", found.Name, "a")
		wantCalls(t, db.gen, 1, 2, 1, 1, 1, 1)
	}, &user{})
}
