package gormplugin_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

type (
	textOwner struct {
		ID    snowflake.ID `gorm:"primaryKey;type:int"`
		Notes []textNote   `gorm:"polymorphic:Owner"`
	}
	textNote struct {
		ID        snowflake.ID `gorm:"primaryKey;type:int"`
		OwnerID   string
		OwnerType string
	}
	uintOwner struct {
		ID    snowflake.ID `gorm:"primaryKey;type:int"`
		Notes []uintNote   `gorm:"polymorphic:Owner"`
	}
	uintNote struct {
		ID        snowflake.ID `gorm:"primaryKey;type:int"`
		OwnerID   uint64
		OwnerType string
	}
)

func TestATextColumnThatRefersToAKeyIsRefused(t *testing.T) {
	type book struct {
		ID       snowflake.ID `gorm:"primaryKey;type:int"`
		AuthorID string
		Author   *keyed
	}
	type page struct {
		ID     uint `gorm:"primaryKey"`
		LeafID int32
		Leaf   *keyed
	}
	db := onSQLite(t)
	for name, model := range map[string]any{
		"polymorphic": &textOwner{}, "belongs to": &book{Author: &keyed{ID: 1}}, "32 bits": &page{Leaf: &keyed{ID: 1}},
	} {
		dry := db.Session(&gorm.Session{DryRun: true})
		for what, err := range map[string]error{
			"Create":               dry.Create(model).Error,
			"Updates":              dry.Where("id = 1").Updates(model).Error,
			"DisableAutoIncrement": gormplugin.DisableAutoIncrement(db.DB, model),
		} {
			if !errors.Is(err, schema.ErrUnsupportedDataType) || !strings.Contains(err.Error(), "snowflake.ID") {
				t.Errorf("%s: %s: error %v, want schema.ErrUnsupportedDataType and the remedy", name, what, err)
			}
		}
	}
	if err := gormplugin.DisableAutoIncrement(db.DB, &textNote{}, &uintOwner{}); err != nil {
		t.Error(err)
	}
}

func TestAnUnsignedColumnThatRefersToAKeyWorks(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		o := uintOwner{Notes: []uintNote{{}, {}}}
		must(t, db.Create(&o))
		var found uintOwner
		must(t, db.Preload("Notes").First(&found, o.ID))
		equal(t, "notes", len(found.Notes), 2)
	}, &uintOwner{}, &uintNote{})
}

func TestAValueOfAnotherTypeIsNoKey(t *testing.T) {
	type flake struct {
		ID    snowflake.ID
		Title string
	}
	db := onSQLite(t, &flake{})
	for _, value := range []any{
		&struct{ Title, Note string }{"y", "n"},
		&[]struct{ Title, Note string }{{"y", "n"}},
		&struct {
			ID    float64
			Title string
		}{7, "y"},
	} {
		if err := db.Model(&flake{}).Create(value).Error; !errors.Is(err, gorm.ErrInvalidValue) {
			t.Errorf("%T: error %v, want gorm.ErrInvalidValue", value, err)
		}
	}
	must(t, db.Model(&flake{}).Create(&struct {
		ID    int64
		Title string
	}{7, "y"}))
	db.wantKeys(t, "flakes", 7)
}

func TestAPointerThatIsThereTwiceIsRefused(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		u := &user{Name: "a"}
		for _, list := range []any{[]*user{u, u}, &[2]*user{u, u}} {
			if err := db.Create(list).Error; !errors.Is(err, gorm.ErrInvalidData) {
				t.Errorf("%T: error %v, want gorm.ErrInvalidData", list, err)
			}
			equal(t, "key", u.ID, 0)
		}
		db.wantKeys(t, "users")
		must(t, db.Save([]*user{u, u})) // one row, as its conflict clause says
		db.wantKeys(t, "users", u.ID)
	}, &user{})
}

func TestADefaultThatIsANumberIsRefusedOnAKey(t *testing.T) {
	type zero struct {
		ID   snowflake.ID `gorm:"default:0"`
		Name string
	}
	type own struct {
		ID   userID `gorm:"type:int;size:64;default:'5'"`
		Name string
	}
	target := testdb.SQLite(t)
	type old struct {
		ID   int64 `gorm:"default:0"`
		Name string
	}
	db := open(t, target, target.Dialector(), gorm.Config{}, []any{&zero{}, &own{}, &old{}}, gormplugin.WithIntegerKeys())
	for _, record := range []any{&zero{Name: "a"}, &own{Name: "a"}, &old{Name: "a"}, map[string]any{"name": "a"}} {
		if err := db.Model(&zero{}).Model(modelOf(record, &zero{})).Create(record).Error; !errors.Is(err, gormplugin.ErrTag) {
			t.Errorf("%T: error %v, want ErrTag", record, err)
		}
	}
	for _, table := range []string{"zeros", "owns", "olds"} {
		db.wantKeys(t, table)
	}
}

func modelOf(record, otherwise any) any {
	if _, ok := record.(map[string]any); ok {
		return otherwise
	}
	return record
}

func TestKeysAreFilledWhateverCallbacksAreRemoved(t *testing.T) {
	for _, name := range []string{
		"gorm:begin_transaction", "gorm:before_create", "gorm:save_before_associations", "gorm:save_after_associations",
		"gorm:after_create", "gorm:commit_or_rollback_transaction",
	} {
		db := onSQLite(t, &flat{}, &city{}, &street{})
		if name == "gorm:begin_transaction" { // else the transaction would stay open
			must(t, db.Exec("SELECT 1"))
			if err := db.Callback().Create().Remove("gorm:commit_or_rollback_transaction"); err != nil {
				t.Fatal(err)
			}
		}
		tx := db.Session(&gorm.Session{SkipDefaultTransaction: name == "gorm:commit_or_rollback_transaction"})
		if err := db.Callback().Create().Remove(name); err != nil {
			t.Fatal(err)
		}
		must(t, tx.Create(&[]flat{{Name: "a"}, {Name: "b"}}))
		must(t, tx.Create(&flat{Name: "c"}))
		db.wantKeys(t, "flats", firstID, firstID+1, firstID+2)
		must(t, tx.Create(&city{Code: "BER"}))
		skipped := city{Code: "BER"}
		must(t, tx.Clauses(nothing).Create(&skipped))
		equal(t, "key of the skipped record without "+name, skipped.ID, 0)
	}
}

type forgetful struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Name string       `gorm:"uniqueIndex"`
}

func (f *forgetful) BeforeCreate(*gorm.DB) error {
	if f.Name == "b" {
		f.ID = 0
	}
	return nil
}

func TestAHookThatTakesTheKeyAwayGetsAnother(t *testing.T) {
	db := onSQLite(t, &forgetful{})
	f := []forgetful{{Name: "a"}, {Name: "b"}}
	must(t, db.Create(&f))
	db.wantKeys(t, "forgetfuls", f[0].ID, f[1].ID)
	again := []forgetful{{Name: "c"}, {Name: "b"}}
	if err := db.Create(&again).Error; err == nil {
		t.Error("no violation")
	}
	equal(t, "keys after the violation", again[0].ID+again[1].ID, 0)
}

func TestOpenOnADryRunHandleWritesNothing(t *testing.T) {
	target := testdb.SQLite(t)
	for _, dry := range []bool{true, false} {
		db, err := gorm.Open(target.Dialector(), &gorm.Config{Logger: &recorder{}, DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
		closeAtEnd(t, db)
		if dry {
			if _, err := gormplugin.Open(t.Context(), db); !errors.Is(err, gorm.ErrDryRunModeUnsupported) {
				t.Errorf("error %v, want gorm.ErrDryRunModeUnsupported", err)
			}
			continue
		}
		if db.Migrator().HasTable("snowflake_leases") {
			t.Error("the table of leases was made")
		}
	}
}

type (
	ledger struct {
		ID      snowflake.ID `gorm:"primaryKey;type:int"`
		Code    string       `gorm:"uniqueIndex;size:20"`
		Entries []posting
		Bank    *bank
		BankID  *snowflake.ID
		Fails   bool `gorm:"-"`
		hooks   int
	}
	posting struct {
		ID       snowflake.ID `gorm:"primaryKey;type:int"`
		LedgerID snowflake.ID
		Text     string `gorm:"uniqueIndex;size:20"`
		PublicID string `gorm:"snowflake;size:19"`
	}
	bank struct {
		ID   snowflake.ID `gorm:"primaryKey;type:int"`
		Name string       `gorm:"size:20"`
	}
)

func (l *ledger) BeforeCreate(*gorm.DB) error { l.hooks++; return nil }

func (l *ledger) AfterCreate(*gorm.DB) error {
	if l.Fails {
		return errEmpty
	}
	return nil
}

func TestAStatementThatFailedTakesItsKeysBack(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		must(t, db.Create(&ledger{Code: "taken", Entries: []posting{{Text: "taken"}}}))
		ledgers := func() int64 { return db.count(t, "ledgers", "1 = 1") }

		one := ledger{Code: "taken", Entries: []posting{{Text: "a"}}, Bank: &bank{Name: "b"}}
		if err := db.Save(&one).Error; err == nil {
			t.Fatal("no violation")
		}
		equal(t, "key after a violation", one.ID, 0)
		equal(t, "key of a child", one.Entries[0].ID, 0)
		if one.Bank.ID == 0 {
			t.Error("the association whose own statement succeeded has lost its key")
		}
		one.Code = "free"
		must(t, db.Save(&one))
		equal(t, "hooks of both creates", one.hooks, 2)
		equal(t, "rows", db.count(t, "postings", "ledger_id = ?", one.ID), 1)
		equal(t, "banks", db.count(t, "banks", "id = ?", one.BankID), 1)

		child := ledger{Code: "child", Entries: []posting{{Text: "b"}, {Text: "taken"}}}
		if err := db.Create(&child).Error; err == nil && !db.mysql { // whose upserts know no target
			t.Fatal("no violation")
		} else if err != nil {
			equal(t, "key of the parent", child.ID, 0)
			equal(t, "key of the children", child.Entries[0].ID+child.Entries[1].ID, 0)
			equal(t, "other field", child.Entries[0].PublicID, "")
			child.Entries[1].Text = "c"
			must(t, db.Save(&child))
			equal(t, "rows", db.count(t, "postings", "ledger_id = ?", child.ID), 2)
		}

		hook := []*ledger{{Code: "hook"}, {ID: 7, Code: "preset", Fails: true}}
		before := ledgers()
		if err := db.Create(hook).Error; !errors.Is(err, errEmpty) {
			t.Errorf("error %v, want that of the hook", err)
		}
		equal(t, "ledgers", ledgers(), before)
		equal(t, "key that was filled", hook[0].ID, 0)
		equal(t, "key that was set", hook[1].ID, 7)

		maps := []map[string]any{{"code": "x"}, {"code": "taken"}}
		if err := db.Model(&ledger{}).Create(maps).Error; err == nil {
			t.Error("no violation")
		}
		for _, m := range maps {
			if id, there := m["id"]; there {
				t.Errorf("a map has the key %v", id)
			}
		}
	}, &bank{}, &ledger{}, &posting{})
}

func TestKeysOfRowsThatAreThereStay(t *testing.T) {
	db := onSQLite(t, &bank{}, &ledger{}, &posting{})
	failing := ledger{Code: "a", Fails: true}
	tx := db.Session(&gorm.Session{SkipDefaultTransaction: true})
	if err := tx.Create(&failing).Error; !errors.Is(err, errEmpty) {
		t.Errorf("error %v, want that of the hook", err)
	}
	db.wantKeys(t, "ledgers", failing.ID) // without a transaction the row is there
	err := db.Transaction(func(tx *gorm.DB) error {
		inner := ledger{Code: "b", Fails: true}
		if err := tx.Create(&inner).Error; !errors.Is(err, errEmpty) {
			t.Errorf("error %v, want that of the hook", err)
		}
		if tx.First(&ledger{}, inner.ID).Error != nil {
			t.Error("the record has lost the key of its row")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// silent is a database that stores nothing, for counts of what happens before it.
type silent struct{ gorm.ConnPool }

func (silent) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return driver.RowsAffected(1), nil
}

func TestAnUpsertOfATextKeyOnMySQLFindsItsRow(t *testing.T) {
	type topic struct {
		ID   string `gorm:"primaryKey;size:20;snowflake"`
		Name string `gorm:"uniqueIndex;size:20"`
		Text string
	}
	type own struct {
		ID   sqltypes.Text `gorm:"primaryKey"`
		Name string        `gorm:"uniqueIndex;size:20"`
		Text string
	}
	byName := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"text"})}
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		first, second := topic{Name: "a"}, own{Name: "a"}
		must(t, db.Create(&first))
		must(t, db.Create(&second))
		again, ownAgain := topic{Name: "a", Text: "x"}, own{Name: "a", Text: "x"}
		must(t, db.Clauses(byName).Create(&again))
		must(t, db.Clauses(byName).Create(&ownAgain))
		for _, statement := range db.log.takeLike("INSERT") {
			if strings.Contains(statement, "LAST_INSERT_ID") {
				t.Errorf("a key of text in %s", statement)
			}
		}
		equal(t, "text key", again.ID, first.ID)
		equal(t, "own key of text", ownAgain.ID, second.ID)
		if !db.returning() {
			noTarget := topic{Name: "a", Text: "y"}
			must(t, db.Clauses(clause.OnConflict{DoUpdates: byName.DoUpdates}).Create(&noTarget))
			equal(t, "key without a target", noTarget.ID, "")
		}
		equal(t, "rows", db.count(t, "topics", "id = ?", first.ID), 1)
	}, &topic{}, &own{})
}
