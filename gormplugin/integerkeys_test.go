package gormplugin_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
)

// customer and purchase are models as GORM's users have them.
type customer struct {
	gorm.Model
	Name      string `gorm:"size:20;uniqueIndex"`
	Purchases []purchase
}

type purchase struct {
	ID         int64
	CustomerID uint
	What       string
}

// withIntegerKeys opens a handle with the option on every kind of database, without tables.
func withIntegerKeys(t *testing.T, f func(t *testing.T, db *env)) {
	t.Helper()
	eachWithOptions(t, f, nil, gormplugin.WithIntegerKeys())
}

func TestIntegerKeysFillsTheKeyOfGormModel(t *testing.T) {
	withIntegerKeys(t, func(t *testing.T, db *env) {
		noError(t, autoMigrate(db.DB, &customer{}, &purchase{}))
		db.log.take()
		c := customer{Name: "ada", Purchases: []purchase{{What: "a"}, {What: "b"}}}
		must(t, db.Create(&c))
		equal(t, "key", c.ID, uint(firstID))
		equal(t, "key of the child", c.Purchases[1].ID, int64(firstID+2))
		equal(t, "foreign key", c.Purchases[1].CustomerID, c.ID)
		wantCalls(t, db.gen, 1, 2)
		for _, statement := range db.log.take() {
			if strings.Contains(statement, "RETURNING") && !strings.Contains(statement, "ON DUPLICATE KEY") {
				t.Errorf("a create reads the key back: %s", statement)
			}
		}
		equal(t, "warnings", len(db.log.warnings), 0)

		m, many := map[string]any{"Name": "bob"}, []map[string]any{{"Name": "cid"}, {"Name": "dan"}}
		must(t, db.Model(&customer{}).Create(m))
		must(t, db.Model(&customer{}).Create(&many))
		equal(t, "key in a map", m["id"], any(uint(firstID+3)))
		equal(t, "key in a slice of maps", many[1]["id"], any(uint(firstID+5)))
		equal(t, "maps", len(many), 2)
		equal(t, "rows", db.count(t, "customers", "id BETWEEN ? AND ?", firstID, firstID+5), 4)
	})
}

func TestIntegerKeysLeavesOtherKeysToTheDatabase(t *testing.T) {
	type text struct {
		ID string `gorm:"size:20"`
	}
	db := withIntegers(t)
	for _, record := range []any{
		&struct {
			ID int64 `gorm:"autoIncrement"`
		}{},
		&struct {
			ID int64 `gorm:"autoIncrement:false;default:(7)"`
		}{},
		&struct {
			ID int64 `gorm:"snowflake:-"`
		}{},
		&struct{ ID uint32 }{},
		&struct {
			ID int64 `gorm:"serializer:unixtime;type:datetime"`
		}{},
	} {
		must(t, db.DryRun().Create(record))
		wantCalls(t, db.gen)
		equal(t, "warnings", len(db.log.takeWarnings()), 0)
	}
	must(t, db.DryRun().Create(&text{}))
	wantCalls(t, db.gen)
	equal(t, "warnings for a key that nobody makes", len(db.log.takeWarnings()), 1)
	must(t, db.DryRun().Create(&struct{ ID, Other int64 }{}))
	wantCalls(t, db.gen, 1)
}

// Without DisableAutoIncrement GORM treats the keys as auto-increment: the rows are right, and there is one warning.
func TestAnAutoIncrementKeyThatIsFilledIsWarnedOfOnce(t *testing.T) {
	type tagged struct {
		ID   uint64 `gorm:"primaryKey;column:number;snowflake"`
		Name string
	}
	withIntegerKeys(t, func(t *testing.T, db *env) {
		noError(t, db.AutoMigrate(&customer{}, &purchase{}, &tagged{}))
		for range 3 {
			must(t, db.Create(&tagged{}))
			must(t, db.Model(&tagged{}).Create(map[string]any{}))
		}
		must(t, db.Create(&customer{Name: "a"}))
		must(t, db.Create(&customer{Name: "b"}))
		equal(t, "warnings", len(db.log.warnings), 2)
		warning := db.log.warnings[0]
		for _, part := range []string{"tagged", "number", "gormplugin.DisableAutoIncrement", "autoIncrement:false"} {
			if !strings.Contains(warning, part) {
				t.Errorf("the warning does not say %s: %s", part, warning)
			}
		}
	})
}

// GORM writes LAST_INSERT_ID into every map on MySQL, and appends maps where there is RETURNING.
func TestSeveralMapsWithAnAutoIncrementKeyAreRefused(t *testing.T) {
	withIntegerKeys(t, func(t *testing.T, db *env) {
		noError(t, db.AutoMigrate(&purchase{}))
		m := map[string]any{"What": "a"}
		must(t, db.Model(&purchase{}).Create(m))
		equal(t, "key in a map", m["id"], any(int64(firstID)))
		many := []map[string]any{{"What": "b"}, {"What": "c", "id": int64(5)}}
		for _, maps := range []any{many, &many} {
			wantError(t, db.Model(&purchase{}).Create(maps).Error, gorm.ErrInvalidData)
		}
		equal(t, "rows", db.count(t, "purchases", "1 = 1"), 1)
	})
}

func TestIntegerKeysFollowTheRowThatIsMet(t *testing.T) {
	for name, migrate := range map[string]func(*gorm.DB, ...any) error{"plain": autoMigrate, "auto-increment": (*gorm.DB).AutoMigrate} {
		follow := func(t *testing.T, target testdb.Target, dialector gorm.Dialector) {
			db := open(t, target, dialector, gorm.Config{}, nil, gormplugin.WithIntegerKeys())
			noError(t, migrate(db.DB, &customer{}, &purchase{}))
			must(t, db.Create(&customer{Model: gorm.Model{ID: 5}, Name: "ada"}))
			for _, conflict := range []clause.OnConflict{byName, nothing} {
				one, batch := customer{Name: "ada"}, []customer{{Name: fmt.Sprint("bob", conflict.DoNothing)}, {Name: "ada"}}
				must(t, db.Clauses(conflict).Create(&one))
				must(t, db.Clauses(conflict).Create(&batch))
				for _, c := range append(batch, one) {
					// MariaDB returns the row's key also if it is skipped, where GORM takes the key for auto-increment.
					if n := db.count(t, "customers", "id = ? AND name = ?", c.ID, c.Name); n != 1 && (!conflict.DoNothing || c.ID != 0) {
						t.Errorf("%+v: %s has the key %d of %d rows", conflict, c.Name, c.ID, n)
					}
				}
				equal(t, "key of a new record is set", batch[0].ID != 0, true)
			}
		}
		t.Run(name, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, target testdb.Target) { follow(t, target, gormdb.Dialector(target)) })
			t.Run("mysql", func(t *testing.T) {
				target := testdb.MariaDB(t)
				follow(t, target, withoutReturning(target))
			})
		})
	}
}

func TestUnsignedKeysKeepAllTheirBits(t *testing.T) {
	type wide struct {
		ID   uint64 `gorm:"primaryKey;autoIncrement:false;snowflake"`
		Name string `gorm:"size:20;uniqueIndex"`
	}
	target := testdb.MariaDB(t) // PostgreSQL and SQLite have no unsigned integers
	db := open(t, target, withoutReturning(target), gorm.Config{}, []any{&wide{}})
	must(t, db.Create(&wide{ID: math.MaxUint64, Name: "a"}))
	batch := []wide{{Name: "b"}, {Name: "a"}}
	must(t, db.Clauses(byName).Create(&batch))
	equal(t, "key of the met row", batch[1].ID, math.MaxUint64)
}
