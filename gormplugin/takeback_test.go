package gormplugin_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
)

// note is a record whose hook may fail after its row was written.
type note struct {
	ID   snowflake.ID
	Name string  `gorm:"size:50;uniqueIndex"`
	Boom bool    `gorm:"-"`
	Big  *[]byte `gorm:"-"`
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

// lossy is a connection that does what it is told, but does not tell.
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
		var freed atomic.Bool
		panics := func(tx *gorm.DB, n *note) {
			defer func() { _ = recover() }()
			tx.Create(n)
		}
		func() {
			n := &note{Name: "a", Boom: true, Big: new([]byte)}
			*n.Big = make([]byte, 1<<20)
			runtime.SetFinalizer(n.Big, func(*[]byte) { freed.Store(true) })
			panics(tx.Session(&gorm.Session{}), n)
		}()
		eventually(t, "the record is freed", func() bool { runtime.GC(); return freed.Load() })
		upsert := tx.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "name"}},
			DoUpdates: clause.AssignmentColumns([]string{"name"}),
		})
		panics(upsert, &note{Name: "b", Boom: true})
		again := note{Name: "a"}
		if err := upsert.Create(&again).Error; err != nil || db.count(t, "notes", "id = ? AND name = ?", again.ID, "a") != 1 {
			t.Errorf("error %v, the key %d is not the row's", err, again.ID)
		}
	}, &note{})
}
