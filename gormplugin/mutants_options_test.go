package gormplugin_test

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// withIntegers returns a handle on SQLite whose plugin fills integer keys.
func withIntegers(t *testing.T) *env {
	t.Helper()
	target := testdb.SQLite(t)
	return open(t, target, target.Dialector(), withoutConstraints, nil, gormplugin.WithIntegerKeys())
}

func TestDisableAutoIncrementMakesPartsOfACompositeKeyNotNull(t *testing.T) {
	type line struct {
		OrderID int64 `gorm:"primaryKey"`
		ID      int64 `gorm:"primaryKey"`
	}
	db := withIntegers(t)
	if err := autoMigrate(db.DB, &line{}); err != nil {
		t.Fatal(err)
	}
	var notNull int64
	must(t, db.Raw(`SELECT "notnull" FROM pragma_table_info('lines') WHERE name = 'id'`).Scan(&notNull))
	equal(t, "NOT NULL", notNull, 1)
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
	if err := db.SetupJoinTable(&left{}, "Rights", &link{}); err != nil {
		t.Fatal(err)
	}
	if err := autoMigrate(db.DB, &left{}); err != nil {
		t.Fatal(err)
	}
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
	if err := autoMigrate(db.Table("archive"), &entry{}); err != nil {
		t.Fatal(err)
	}
	var ddl string
	must(t, db.Raw("SELECT sql FROM sqlite_master WHERE name = 'archive'").Scan(&ddl))
	if ddl == "" || strings.Contains(ddl, "AUTOINCREMENT") {
		t.Errorf("table archive: %q, want one without AUTOINCREMENT", ddl)
	}
}

func TestDisableAutoIncrementLetsKeysPassThatIntegerKeysLeaves(t *testing.T) {
	type counted struct {
		ID uint32 `gorm:"primaryKey;autoIncrement"`
	}
	type text struct {
		ID string `gorm:"primaryKey;size:20"`
	}
	for _, model := range []any{&counted{}, &text{}} {
		if err := gormplugin.DisableAutoIncrement(withIntegers(t).DB, model); err != nil {
			t.Errorf("%T: %v", model, err)
		}
	}
}
