package gormplugin_test

import (
	"encoding/json"
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
	db := onSQLite(t, &user{})
	u, v, many := user{Name: "a"}, user{Name: "e"}, named("b", "c", "d")
	noError(t, gorm.G[user](db.DB).Create(t.Context(), &u))
	noError(t, gorm.G[user](db.DB).CreateInBatches(t.Context(), &many, 2))
	noError(t, gorm.G[user](db.Select("Name")).Create(t.Context(), &v))
	noError(t, gorm.G[user](db.DB).Table("users").Create(t.Context(), &user{Name: "f"}))
	result := gorm.WithResult()
	noError(t, gorm.G[user](db.DB, result).Create(t.Context(), &user{Name: "g"}))
	equal(t, "rows of WithResult", result.RowsAffected, 1)
	db.wantKeys(t, "users", u.ID, many[0].ID, many[1].ID, many[2].ID, v.ID, firstID+5, firstID+6)
	wantCalls(t, db.gen, 1, 2, 1, 1, 1, 1)
}
