package gormplugin_test

import (
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// withIntegers returns a handle on SQLite whose plugin fills integer keys.
func withIntegers(t *testing.T) *env {
	t.Helper()
	target := testdb.SQLite(t)
	return open(t, target, gormdb.Dialector(target), withoutConstraints, nil, gormplugin.WithIntegerKeys())
}

func TestDisableAutoIncrementReachesJoinTablesOfTheCallers(t *testing.T) {
	type link struct {
		ID      int64 `gorm:"primaryKey"`
		LeftID  int64
		RightID int64
	}
	type right struct{ ID int64 }
	type left struct {
		ID     int64
		Rights []right `gorm:"many2many:links"`
	}
	db := withIntegers(t)
	noError(t, db.SetupJoinTable(&left{}, "Rights", &link{}))
	noError(t, autoMigrate(db.DB, &left{}))
	db.log.take()
	must(t, db.Create(&left{Rights: []right{{}}}))
	for _, insert := range db.log.takeLike("INSERT") {
		if strings.Contains(insert, "links") && strings.Contains(insert, "RETURNING") {
			t.Errorf("the key of the join table is read back: %s", insert)
		}
	}
	equal(t, "warnings", len(db.log.warnings), 0)
}

func TestDisableAutoIncrementHoldsForTheTableOfTheHandle(t *testing.T) {
	type entry struct{ ID int64 }
	db := withIntegers(t)
	noError(t, autoMigrate(db.Table("archive"), &entry{}))
	var ddl string
	must(t, db.Raw("SELECT sql FROM sqlite_master WHERE name = 'archive'").Scan(&ddl))
	if ddl == "" || strings.Contains(ddl, "AUTOINCREMENT") {
		t.Errorf("table archive: %q, want one without AUTOINCREMENT", ddl)
	}
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
		key := column{Type: db.integerOn(), InKey: true}
		equal(t, "gorm.Model", db.column(t, "customers", "id"), key)
		equal(t, "related model", db.column(t, "shops", "id"), key)
		key.InKey = false
		equal(t, "foreign key", db.column(t, "receipts", "shop_id"), key)
		key.InKey = true
		equal(t, "tagged uint64", db.column(t, "unsigneds", "id"), key)
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
	type small struct {
		ID   int32
		Name string
	}
	type narrow struct {
		ID   int64 `gorm:"size:32"`
		Name string
	}
	type left struct {
		ID   int32 `gorm:"snowflake:-"`
		Name string
	}
	type child struct {
		ID       int16
		ParentID int64
	}
	type withSmallChild struct {
		ID       int64
		Children []child `gorm:"foreignKey:ParentID"`
	}
	type counted struct {
		ID uint32 `gorm:"primaryKey;autoIncrement"`
	}
	type text struct {
		ID string `gorm:"primaryKey;size:20"`
	}
	db := withIntegers(t)
	for _, model := range []any{&small{}, &narrow{}, &withSmallChild{}} {
		err := autoMigrate(db.DB, &customer{}, model)
		if !errors.Is(err, gormplugin.ErrTag) || !strings.Contains(err.Error(), "too small") {
			t.Errorf("%T: error %v, want ErrTag", model, err)
		}
	}
	if db.Migrator().HasTable(&customer{}) {
		t.Error("a table was created in spite of the error")
	}
	if err := gormplugin.DisableAutoIncrement(db.DB, &left{}, &counted{}, &text{}, "a_table"); err != nil {
		t.Errorf("keys that the plugin does not fill: %v", err)
	}
	for _, model := range []any{7, nil} {
		if err := gormplugin.DisableAutoIncrement(db.DB, model); err == nil {
			t.Errorf("%T: no error", model)
		}
	}
	without, err := gorm.Open(gormdb.Dialector(testdb.SQLite(t)), &gorm.Config{})
	noError(t, err)
	closeAtEnd(t, without)
	wantError(t, gormplugin.DisableAutoIncrement(without, &customer{}), gorm.ErrInvalidDB)
	wantError(t, autoMigrate(without, &customer{}), gorm.ErrInvalidDB)
}
