package gormplugin_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gorm.io/gorm"

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
		if err := autoMigrate(db.DB, &customer{}, &purchase{}); err != nil {
			t.Fatal(err)
		}
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
	type counted struct {
		ID   int64 `gorm:"primaryKey;autoIncrement"`
		Name string
	}
	type defaulted struct {
		ID   int64 `gorm:"primaryKey;autoIncrement:false;default:(7)"`
		Name string
	}
	type out struct {
		ID   int64 `gorm:"primaryKey;snowflake:-"`
		Name string
	}
	type small struct {
		ID   uint32
		Name string
	}
	type text struct {
		ID   string `gorm:"primaryKey;size:20"`
		Name string
	}
	type plain struct {
		ID    int64
		Other int64
	}
	withIntegerKeys(t, func(t *testing.T, db *env) {
		if err := db.AutoMigrate(&counted{}, &defaulted{}, &out{}, &small{}, &text{}, &plain{}); err != nil {
			t.Fatal(err)
		}
		must(t, db.Create(&counted{}))
		must(t, db.Create(&defaulted{}))
		must(t, db.Create(&out{}))
		s := small{}
		must(t, db.Create(&s))
		equal(t, "32 bits", s.ID, 1)
		wantCalls(t, db.gen)
		equal(t, "warnings", len(db.log.takeWarnings()), 0)
		must(t, db.Create(&text{}))
		wantCalls(t, db.gen)
		equal(t, "warnings for a key that nobody makes", len(db.log.takeWarnings()), 1)
		p := plain{}
		must(t, db.Create(&p))
		wantCalls(t, db.gen, 1)
		equal(t, "other integer", p.Other, 0)
	})
}

// Without DisableAutoIncrement GORM treats the keys as auto-increment: the rows are right, and there is one warning.
func TestAnAutoIncrementKeyThatIsFilledIsWarnedOfOnce(t *testing.T) {
	type tagged struct {
		ID   uint64 `gorm:"primaryKey;column:number;snowflake"`
		Name string
	}
	withIntegerKeys(t, func(t *testing.T, db *env) {
		if err := db.AutoMigrate(&customer{}, &purchase{}, &tagged{}); err != nil {
			t.Fatal(err)
		}
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
		if err := db.AutoMigrate(&purchase{}); err != nil {
			t.Fatal(err)
		}
		m := map[string]any{"What": "a"}
		must(t, db.Model(&purchase{}).Create(m))
		equal(t, "key in a map", m["id"], any(int64(firstID)))
		many := []map[string]any{{"What": "b"}, {"What": "c", "id": int64(5)}}
		for _, maps := range []any{many, &many} {
			if err := db.Model(&purchase{}).Create(maps).Error; !errors.Is(err, gorm.ErrInvalidData) {
				t.Errorf("error %v, want gorm.ErrInvalidData", err)
			}
		}
		equal(t, "rows", db.count(t, "purchases", "1 = 1"), 1)
	})
}

func TestIntegerKeysFollowTheRowThatIsMet(t *testing.T) {
	for _, prepared := range []bool{true, false} {
		t.Run(fmt.Sprintf("prepared=%t", prepared), func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, target testdb.Target) { followRows(t, target, gormdb.Dialector(target), prepared) })
			t.Run("mysql", func(t *testing.T) {
				target := testdb.MariaDB(t)
				followRows(t, target, withoutReturning(target), prepared)
			})
		})
	}
}

func followRows(t *testing.T, target testdb.Target, dialector gorm.Dialector, prepared bool) {
	db := open(t, target, dialector, gorm.Config{}, nil, gormplugin.WithIntegerKeys())
	migrate := db.AutoMigrate
	if prepared {
		migrate = func(models ...any) error { return autoMigrate(db.DB, models...) }
	}
	if err := migrate(&customer{}, &purchase{}); err != nil {
		t.Fatal(err)
	}
	must(t, db.Create(&customer{Model: gorm.Model{ID: 5}, Name: "ada"}))
	c := customer{Name: "ada"}
	must(t, db.Clauses(byName).Create(&c))
	equal(t, "key of the row that was met", c.ID, 5)
	c = customer{Name: "ada"}
	must(t, db.Clauses(nothing).Create(&c))
	wantSkipped(t, db, c)
	batch := []customer{{Name: "bob"}, {Name: "ada"}, {Name: "cid"}}
	must(t, db.Clauses(byName).Create(&batch))
	equal(t, "key of the met row in a batch", batch[1].ID, 5)
	for _, c := range batch {
		equal(t, "rows of "+c.Name, db.count(t, "customers", "id = ? AND name = ?", c.ID, c.Name), 1)
	}
	batch = []customer{{Name: "bob"}, {Name: "dan"}}
	must(t, db.Clauses(nothing).Create(&batch))
	wantSkipped(t, db, batch[0])
	equal(t, "rows of dan", db.count(t, "customers", "id = ? AND name = ?", batch[1].ID, "dan"), 1)
}

// wantSkipped checks that a skipped record has no key, or the row's: MariaDB returns that where GORM asks for a key
// that it takes for auto-increment.
func wantSkipped(t *testing.T, db *env, c customer) {
	t.Helper()
	if c.ID != 0 {
		equal(t, "rows of the skipped "+c.Name, db.count(t, "customers", "id = ? AND name = ?", c.ID, c.Name), 1)
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

func TestIntegerKeysLeavesKeysWithASerializer(t *testing.T) {
	type moment struct {
		ID   int64 `gorm:"serializer:unixtime;type:datetime"`
		Name string
	}
	target := testdb.SQLite(t)
	db := open(t, target, gormdb.Dialector(target), gorm.Config{DryRun: true}, nil, gormplugin.WithIntegerKeys())
	m := moment{}
	must(t, db.Create(&m))
	equal(t, "key", m.ID, 0)
	wantCalls(t, db.gen)
}
