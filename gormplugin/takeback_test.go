package gormplugin_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
)

// note is a record whose hook may fail after its row was written.
type note struct {
	ID   snowflake.ID
	Name string `gorm:"size:50;uniqueIndex"`
	Boom bool   `gorm:"-"`
}

func (n *note) AfterCreate(*gorm.DB) error {
	switch {
	case n.Boom:
		panic("a hook of the test")
	case n.Name == "fails":
		return errors.New("a hook of the test")
	}
	return nil
}

// lossy is a connection that executes statements, but loses the replies.
type lossy struct {
	gorm.ConnPool
	err   error
	after func()
}

func (l lossy) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	if _, err := l.ConnPool.ExecContext(context.Background(), query, args...); err != nil {
		return nil, err
	}
	l.after()
	return nil, l.err
}

func TestARecordWhoseRowMayBeThereKeepsItsKey(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i, lost := range []error{
			driver.ErrBadConn, context.DeadlineExceeded, fmt.Errorf("read: %w", io.ErrUnexpectedEOF),
			io.EOF, errors.New("invalid connection"), &timeout{}, errors.New("ended"),
		} {
			tx := db.Session(&gorm.Session{SkipDefaultTransaction: true, Context: ctx})
			after := func() {}
			if lost.Error() == "ended" {
				after = cancel
			}
			tx.Statement.ConnPool = lossy{tx.Statement.ConnPool, lost, after}
			m := note{Name: strconv.Itoa(i)}
			if err := tx.Create(&m).Error; err == nil || m.ID == 0 {
				t.Errorf("%v: error %v, key %d, want the row's", lost, err, m.ID)
			}
			equal(t, "rows", db.count(t, "notes", "id = ?", m.ID), 1)
		}
		again := note{Name: "0"} // the server's answer
		if err := db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(&again).Error; err == nil || again.ID != 0 {
			t.Errorf("error %v, key %d, want none", err, again.ID)
		}
		n := note{Name: "a"}
		_ = db.Transaction(func(tx *gorm.DB) error {
			pool := tx.Statement.ConnPool.(gorm.TxCommitter)
			tx.Statement.ConnPool = &struct {
				lossy
				gorm.TxCommitter
			}{lossy{tx.Statement.ConnPool, driver.ErrBadConn, func() {}}, pool}
			return tx.Create(&n).Error
		})
		equal(t, "key in a transaction", n.ID, 0)
	}, &note{})
}

type timeout struct{}

func (*timeout) Error() string   { return "a timeout" }
func (*timeout) Timeout() bool   { return true }
func (*timeout) Temporary() bool { return false }

func TestRecordsThatGORMHasPutIntoTheSliceLoseTheirKeys(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		must(t, db.Create(&note{Name: "a"}))
		list := []note{{Name: "a"}, {Name: "fails"}, {ID: 7, Name: "c"}}
		tx := db.Clauses(clause.OnConflict{DoNothing: true}, clause.Returning{})
		if tx.Create(&list).Error == nil {
			t.Fatal("the hook has not failed")
		}
		for i, n := range list {
			if n.ID != 0 && n.ID != 7 && db.count(t, "notes", "id = ?", n.ID) == 0 {
				t.Errorf("record %d has the key %d of no row", i, n.ID)
			}
		}
	}, &note{})
}

func TestAPanicInAHookLeavesNothingBehind(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		tx := db.Session(&gorm.Session{SkipDefaultTransaction: true})
		panics := func(tx *gorm.DB, n *note) {
			defer func() { _ = recover() }()
			tx.Create(n)
		}
		panics(tx.Session(&gorm.Session{}), &note{Name: "a", Boom: true})
		upsert := tx.Clauses(by("name", "name"))
		panics(upsert, &note{Name: "b", Boom: true})
		again := note{Name: "a"}
		if err := upsert.Create(&again).Error; err != nil || db.count(t, "notes", "id = ? AND name = ?", again.ID, "a") != 1 {
			t.Errorf("error %v, the key %d is not the row's", err, again.ID)
		}
	}, &note{})
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
		wantError(t, db.Create(hook).Error, errEmpty)
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
	wantError(t, tx.Create(&failing).Error, errEmpty)
	db.wantKeys(t, "ledgers", failing.ID) // without a transaction the row is there
	err := db.Transaction(func(tx *gorm.DB) error {
		inner := ledger{Code: "b", Fails: true}
		wantError(t, tx.Create(&inner).Error, errEmpty)
		if tx.First(&ledger{}, inner.ID).Error != nil {
			t.Error("the record has lost the key of its row")
		}
		return nil
	})
	noError(t, err)
	rolledBack := ledger{Code: "c"}
	_ = db.Transaction(func(tx *gorm.DB) error {
		must(t, tx.Create(&rolledBack))
		return errEmpty
	})
	equal(t, "a key is there after a rollback by the caller", rolledBack.ID != 0, true)
}
