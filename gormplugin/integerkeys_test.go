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
	"github.com/sqlflake/sqlflake/snowflake"
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
	eachOf(t, kinds[:3], gorm.Config{}, f, nil, gormplugin.WithIntegerKeys())
}

func TestIntegerKeysFillsTheKeyOfGormModel(t *testing.T) {
	withIntegerKeys(t, func(t *testing.T, db *env) {
		noError(t, autoMigrate(db.DB, &customer{}, &purchase{}))
		db.log.take()
		c := customer{Name: "ada", Purchases: []purchase{{What: "a"}, {What: "b"}}}
		must(t, db.Create(&c))
		wantIDs(t, []customer{c}, firstID)
		equal(t, "child", c.Purchases[1], purchase{int64(firstID + 2), uint(firstID), "b"})
		wantCalls(t, db.gen, 1, 2)
		for _, statement := range db.log.take() {
			if strings.Contains(statement, "RETURNING") && !strings.Contains(statement, "ON DUPLICATE KEY") {
				t.Errorf("a create reads the key back: %s", statement)
			}
		}
		equal(t, "warnings", len(db.log.warnings.all), 0)

		m, many := map[string]any{"Name": "bob"}, []map[string]any{{"Name": "cid"}, {"Name": "dan"}}
		create(t, db.Model(&customer{}), m, &many)
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
		with("ID", int64(0), "autoIncrement"),
		with("ID", int64(0), "autoIncrement:false;default:(7)"),
		with("ID", int64(0), "snowflake:-"),
		with("ID", uint32(0), ""),
		with("ID", int64(0), "serializer:unixtime;type:datetime"),
	} {
		must(t, db.DryRun().Create(record))
		wantCalls(t, db.gen)
		equal(t, "warnings", len(db.log.warnings.take()), 0)
	}

	must(t, db.DryRun().Create(&text{}))
	wantCalls(t, db.gen)
	equal(t, "warnings for a key that nobody makes", len(db.log.warnings.take()), 1)
	must(t, db.DryRun().Create(&struct{ ID, Other int64 }{}))
	wantCalls(t, db.gen, 1)
}

// Without DisableAutoIncrement GORM treats the keys as auto-increment: the rows are right, and there is one warning.
func TestAnAutoIncrementKeyIsFilledExceptInSeveralMapsAndWarnedOfOnce(t *testing.T) {
	type tagged struct {
		ID   uint64 `gorm:"primaryKey;column:number;snowflake"`
		Name string
	}
	withIntegerKeys(t, func(t *testing.T, db *env) {
		noError(t, db.AutoMigrate(&customer{}, &purchase{}, &tagged{}))
		create(t, db.Model(&tagged{}), &tagged{}, map[string]any{}, &tagged{}, map[string]any{})
		create(t, db.DB, &customer{Name: "a"}, &customer{Name: "b"})
		warnings := db.log.warnings.take()
		equal(t, "warnings", len(warnings), 2)
		wantText(t, warnings[0], "tagged", "number", "gormplugin.DisableAutoIncrement", "autoIncrement:false")

		// GORM writes LAST_INSERT_ID into every map on MySQL, and appends maps where there is RETURNING.
		many := []map[string]any{{"What": "b"}, {"What": "c", "id": int64(5)}}
		for _, maps := range []any{many, &many} {
			wantError(t, db.Model(&purchase{}).Create(maps).Error, gorm.ErrInvalidData)
		}
		m := map[string]any{"What": "a"}
		must(t, db.Model(&purchase{}).Create(m))
		db.wantKeys(t, "purchases", snowflake.ID(m["id"].(int64)))
	})
}

func TestIntegerKeysFollowTheRowThatIsMet(t *testing.T) {
	for name, migrate := range map[string]func(*gorm.DB, ...any) error{"plain": autoMigrate, "auto-increment": (*gorm.DB).AutoMigrate} {
		t.Run(name, func(t *testing.T) {
			eachOf(t, kinds[:4], gorm.Config{}, func(t *testing.T, db *env) {
				noError(t, migrate(db.DB, &customer{}, &purchase{}))
				must(t, db.Create(&customer{Model: gorm.Model{ID: 5}, Name: "ada"}))
				for _, conflict := range []clause.OnConflict{byName, nothing} {
					one, batch := customer{Name: "ada"}, []customer{{Name: fmt.Sprint("bob", conflict.DoNothing)}, {Name: "ada"}}
					create(t, db.Clauses(conflict), &one, &batch)
					for _, c := range append(batch, one) {
						// MariaDB returns the row's key also if it is skipped, where GORM takes the key for auto-increment.
						if n := db.count(t, "customers", "id = ? AND name = ?", c.ID, c.Name); n != 1 && (!conflict.DoNothing || c.ID != 0) {
							t.Errorf("%+v: %s has the key %d of %d rows", conflict, c.Name, c.ID, n)
						}
					}
					equal(t, "key of a new record is set", batch[0].ID != 0, true)
				}
			}, nil, gormplugin.WithIntegerKeys())
		})
	}
}

func TestUnsignedKeysKeepAllTheirBits(t *testing.T) {
	type wide struct {
		ID   uint64 `gorm:"primaryKey;autoIncrement:false;snowflake"`
		Name string `gorm:"size:20;uniqueIndex"`
	}
	target := testdb.MariaDB(t) // PostgreSQL and SQLite have no unsigned integers
	db := openBy(t, target, withoutReturning(target), gorm.Config{}, []any{&wide{}})
	must(t, db.Create(&wide{ID: math.MaxUint64, Name: "a"}))
	batch := []wide{{Name: "b"}, {Name: "a"}}
	must(t, db.Clauses(byName).Create(&batch))
	equal(t, "key of the met row", batch[1].ID, math.MaxUint64)
}

// withIntegers returns a handle on SQLite whose plugin fills integer keys.
func withIntegers(t *testing.T) *env {
	t.Helper()
	return open(t, testdb.SQLite(t), withoutConstraints, nil, gormplugin.WithIntegerKeys())
}

func TestJoinTablesWithAKeyOfTheirOwnAreFilled(t *testing.T) {
	type link struct {
		ID      int64 `gorm:"primaryKey"`
		LeftID  int64 `gorm:"uniqueIndex:ends"`
		RightID int64 `gorm:"uniqueIndex:ends"`
	}

	type right struct{ ID int64 }
	type left struct {
		ID     int64
		Rights []right `gorm:"many2many:links"`
	}

	withIntegerKeys(t, func(t *testing.T, db *env) {
		noError(t, db.SetupJoinTable(&left{}, "Rights", &link{}))
		noError(t, autoMigrate(db.DB, &left{}))
		db.log.take()
		l := left{Rights: []right{{}, {}}}
		must(t, db.Create(&l))
		for _, insert := range db.log.takeLike("INSERT") {
			if strings.Contains(insert, "links") && strings.Contains(insert, "RETURNING") && !db.mysql {
				t.Errorf("the key of the join table is read back: %s", insert)
			}
		}

		noError(t, db.Model(&l).Association("Rights").Append(&l.Rights[0])) // DO NOTHING skips the row
		db.wantCounts(t, map[string]int{"links": 2, fmt.Sprintf("links WHERE id >= %d AND left_id = %d", firstID, l.ID): 2})
		equal(t, "warnings", len(db.log.warnings.all), 0)
	})
}

func TestDisableAutoIncrementCreatesPlainColumns(t *testing.T) {
	type unsigned struct {
		ID   uint64 `gorm:"primaryKey;snowflake"`
		Name string
	}

	type stays struct {
		ID   int64 `gorm:"primaryKey;autoIncrement"`
		Name string
	}

	type plainID struct {
		ID snowflake.ID
	}

	type composed struct {
		OrderID int64 `gorm:"primaryKey"`
		ID      int64 `gorm:"primaryKey"`
	}

	type shop struct {
		ID   uint
		Name string
	}

	type receipt struct { // brings the shops with it
		ID     uint
		ShopID uint
		Shop   shop
	}

	withIntegerKeys(t, func(t *testing.T, db *env) {
		models := []any{&customer{}, &purchase{}, &unsigned{}, &stays{}, &plainID{}, &composed{}, &receipt{}}
		noError(t, autoMigrate(db.DB, models...))
		noError(t, autoMigrate(db.Table("archive"), &purchase{}))
		// Of gorm.Model, of a related model, with a tag, and of the table of the handle.
		for _, table := range []string{"customers", "shops", "unsigneds", "archive"} {
			equal(t, table, db.column(t, table, "id"), column{Type: db.integerOn(), InKey: true})
		}

		equal(t, "foreign key", db.column(t, "receipts", "shop_id"), column{Type: db.integerOn()})
		equal(t, "with autoIncrement", db.column(t, "stays", "id").Made, true)
		db.log.take()
		noError(t, autoMigrate(db.DB, models...))
		for _, statement := range db.log.take() {
			if !strings.HasPrefix(strings.ToUpper(strings.TrimSpace(statement)), "SELECT") {
				t.Errorf("a second migration runs %s", statement)
			}
		}

		must(t, db.Create(&customer{Name: "a"}))
		equal(t, "rows", db.count(t, "customers", "id = ?", firstID), 1)
		if db.target.Name == "sqlite" {
			equal(t, "rows by rowid", db.count(t, "customers", "rowid = ?", firstID), 1)
			for _, table := range []string{"plain_ids", "composeds"} {
				var notNull bool
				must(t, db.Raw(`SELECT "notnull" FROM pragma_table_info(?) WHERE name = 'id'`, table).Scan(&notNull))
				equal(t, "NOT NULL of a key that is not the rowid in "+table, notNull, true)
			}
		}
	})
}

func TestDisableAutoIncrementRefusesKeysThatAreTooSmall(t *testing.T) {
	type child struct {
		ID       int16
		ParentID int64
	}

	type withSmallChild struct {
		ID       int64
		Children []child `gorm:"foreignKey:ParentID"`
	}

	db := withIntegers(t)
	for _, model := range []any{with("ID", int32(0), ""), with("ID", int64(0), "size:32"), &withSmallChild{}} {
		wantErrorOf(t, fmt.Sprintf("%T", model), autoMigrate(db.DB, &customer{}, model), gormplugin.ErrTag, "too small")
	}

	equal(t, "a table was created in spite of the error", db.Migrator().HasTable(&customer{}), false)
	// Keys that the plugin does not fill.
	noError(t, gormplugin.DisableAutoIncrement(db.DB, with("ID", int32(0), "snowflake:-"), with("ID", uint32(0), "autoIncrement"),
		with("ID", "", "size:20"), "a_table"))
	wantFailure(t, "a number as a model", gormplugin.DisableAutoIncrement(db.DB, 7))
	wantFailure(t, "nil as a model", gormplugin.DisableAutoIncrement(db.DB, nil))
	wantError(t, gormplugin.DisableAutoIncrement(on(t, testdb.SQLite(t)).DB, &customer{}), gorm.ErrInvalidDB)
}
