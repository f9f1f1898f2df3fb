package gormplugin_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/internal/testdb"
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
		for i, c := range []struct {
			lost  error
			after func()
		}{
			{driver.ErrBadConn, func() {}},
			{context.DeadlineExceeded, func() {}},
			{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), func() {}},
			{io.EOF, func() {}},
			{errors.New("invalid connection"), func() {}},
			{&timeout{}, func() {}},
			{errors.New("the context has ended"), cancel},
		} {
			tx := db.Session(&gorm.Session{SkipDefaultTransaction: true, Context: ctx})
			tx.Statement.ConnPool = lossy{tx.Statement.ConnPool, c.lost, c.after}
			m := note{Name: strconv.Itoa(i)}
			wantFailure(t, c.lost.Error(), tx.Create(&m).Error)
			equal(t, "rows after "+c.lost.Error(), db.count(t, "notes", "id = ?", m.ID), 1)
		}
		again := note{Name: "0"} // the server's answer
		wantFailure(t, "a second 0", db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(&again).Error)
		equal(t, "key of a second 0", again.ID, 0)

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
		wantFailure(t, "the hook", tx.Create(&list).Error)
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
		must(t, upsert.Create(&again))
		equal(t, "rows", db.count(t, "notes", "id = ? AND name = ?", again.ID, "a"), 1)
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

		one := ledger{Code: "taken", Entries: []posting{{Text: "a"}}, Bank: &bank{Name: "b"}}
		wantFailure(t, "a second taken", db.Save(&one).Error)
		wantIDs(t, []any{one, one.Entries[0]}, 0, 0)
		equal(t, "the association whose own statement succeeded has its key", one.Bank.ID != 0, true)
		one.Code = "free"
		must(t, db.Save(&one))
		equal(t, "hooks of both creates", one.hooks, 2)
		equal(t, "rows", db.count(t, "postings", "ledger_id = ?", one.ID), 1)
		equal(t, "banks", db.count(t, "banks", "id = ?", one.BankID), 1)

		child := ledger{Code: "child", Entries: []posting{{Text: "b"}, {Text: "taken"}}}
		err := db.Create(&child).Error
		equal(t, "no violation of a child", err == nil, db.mysql) // whose upserts know no target
		if err != nil {
			wantIDs(t, []any{child, child.Entries[0], child.Entries[1]}, 0, 0, 0)
			equal(t, "other field", child.Entries[0].PublicID, "")
			child.Entries[1].Text = "c"
			must(t, db.Save(&child))
			equal(t, "rows", db.count(t, "postings", "ledger_id = ?", child.ID), 2)
		}

		hook := []*ledger{{Code: "hook"}, {ID: 7, Code: "preset", Fails: true}}
		wantError(t, db.Create(hook).Error, errEmpty)
		wantIDs(t, hook, 0, 7)

		maps := []map[string]any{{"code": "x"}, {"code": "taken"}}
		wantFailure(t, "a second taken in a map", db.Model(&ledger{}).Create(maps).Error)
		equal(t, "maps", fmt.Sprint(maps), "[map[code:x] map[code:taken]]")
		db.wantCounts(t, map[string]int{"ledgers WHERE code IN ('hook', 'preset', 'x')": 0})
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
		return tx.First(&ledger{}, inner.ID).Error // the record has the key of its row
	})

	noError(t, err)
	rolledBack := ledger{Code: "c"}
	_ = db.Transaction(func(tx *gorm.DB) error {
		must(t, tx.Create(&rolledBack))
		return errEmpty
	})

	equal(t, "a key is there after a rollback by the caller", rolledBack.ID != 0, true)
}

func TestAPartialUniqueIndexIsFollowedWithItsCondition(t *testing.T) {
	type document struct {
		ID        snowflake.ID `gorm:"primaryKey;type:int"`
		Code      string       `gorm:"size:20"`
		Name      string
		DeletedAt gorm.DeletedAt
	}

	live := byCode
	live.TargetWhere = clause.Where{Exprs: []clause.Expression{
		clause.Expr{SQL: "deleted_at IS NULL OR deleted_at IS NULL"}, clause.Eq{Column: "deleted_at", Value: nil},
	}}

	eachOf(t, kinds[:2], gorm.Config{}, func(t *testing.T, db *env) { // MariaDB has no partial indexes
		must(t, db.Exec("CREATE UNIQUE INDEX live ON documents(code) "+
			"WHERE (deleted_at IS NULL OR deleted_at IS NULL) AND deleted_at IS NULL"))
		gone := gorm.DeletedAt{Valid: true}
		must(t, db.Create(&[]document{
			{ID: 1, Code: "a", DeletedAt: gone}, {ID: 2, Code: "a"}, {ID: 3, Code: "a", DeletedAt: gone},
		}))

		maps := []map[string]any{{"code": "a", "name": "map"}}
		must(t, db.Model(&document{}).Clauses(live).Create(&maps))
		equal(t, "key of the map", maps[0]["id"], any(snowflake.ID(2)))
		excluded := live
		excluded.Where = clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "documents.name <> excluded.name"}}}
		d := document{Code: "a", Name: "map"}
		must(t, db.Clauses(excluded).Create(&d))
		equal(t, "key of a row that is left as it is", d.ID, 2)
	}, []any{&document{}})
}

func TestATargetThatTheDatabaseFillsIsNotComparedWithAZero(t *testing.T) {
	type job struct {
		ID    snowflake.ID `gorm:"primaryKey;type:int"`
		Code  string       `gorm:"uniqueIndex:u;size:20"`
		State string       `gorm:"uniqueIndex:u;size:20;default:(upper('open'))"`
		Kind  int          `gorm:"uniqueIndex:u;default:0"`
		Name  string
	}

	target := clause.OnConflict{
		Columns:   []clause.Column{{Name: "code"}, {Name: "state"}, {Name: "kind"}},
		DoUpdates: clause.AssignmentColumns([]string{"name"}),
	}

	// SQLite knows no DEFAULT among values, which GORM writes for the records without a state.
	eachOf(t, kinds[1:], gorm.Config{}, func(t *testing.T, db *env) {
		create(t, db.DB, &job{ID: 4, Code: "a"}, &job{ID: 6, Code: "b", State: "DONE"})
		must(t, db.Exec("INSERT INTO jobs (id, code, state, kind, name) VALUES (5, 'a', '', 0, 'trap')"))
		jobs := []job{{Code: "a", Name: "new"}, {Code: "b", State: "DONE", Name: "new"}, {Code: "c", Name: "new"}}
		must(t, db.Clauses(target).Create(&jobs))
		want := snowflake.ID(4)
		if db.mysql && !db.returning() {
			want = 0 // unknown: only the database knows the state
		}

		wantIDs(t, jobs[:2], want, 6)
		equal(t, "updated rows", db.count(t, "jobs", "id IN (4, 6) AND name = 'new'"), 2)
		equal(t, "row of the new one", db.count(t, "jobs", "id = ? AND code = 'c'", jobs[2].ID), 1)
	}, []any{&job{}})
}

func TestARowThatTheTransactionsSnapshotLacksIsFound(t *testing.T) {
	eachMySQL(t, gorm.Config{}, func(t *testing.T, db *env) { // whose default is REPEATABLE READ
		begin := func() *gorm.DB {
			tx := db.Begin()
			must(t, tx.Find(&[]city{})) // the snapshot is of now
			return tx
		}
		tx := begin()
		key := withBerlin(t, db)
		cities := []city{{Code: "BER", Name: "Berlin"}, {Code: "PAR"}} // changes nothing in Berlin
		must(t, tx.Clauses(byCode).Create(&cities))
		equal(t, "key", cities[0].ID, key)
		must(t, tx.Rollback()) // it has locked gaps of the index

		tx = begin()
		defer tx.Rollback()
		other := city{Code: "ROM", Name: "Rome"}
		must(t, db.Create(&other))
		saved := []city{{ID: other.ID, Code: "ROM", Name: "Rome", Streets: []street{{Name: "Via"}}}, {Code: "OSL"}}
		must(t, tx.Save(&saved)) // by the key, with nothing changed in the row
		equal(t, "reference", saved[0].Streets[0].CityID, other.ID)
	}, &city{}, &street{})
}

func TestAConstraintAsTheTargetWorksWithReturning(t *testing.T) {
	db := open(t, testdb.Postgres(t), gorm.Config{}, []any{&city{}, &street{}}) // ON CONSTRAINT is PostgreSQL's
	key := withBerlin(t, db)
	must(t, db.Exec("ALTER TABLE cities ADD CONSTRAINT one_code UNIQUE (code)"))
	// GORM prefers the constraint to columns and UpdateAll; the plugin must not go by them.
	constraint := clause.OnConflict{
		OnConstraint: "one_code", Columns: []clause.Column{{Name: "name"}}, DoUpdates: byCode.DoUpdates,
	}
	c := city{Code: "BER", Name: "Stadt"}
	must(t, db.Clauses(constraint).Create(&c))
	equal(t, "key", c.ID, key)
	constraint.Columns = []clause.Column{{Name: "id"}}
	cities := []city{{Code: "PAR"}, {Code: "BER", Name: "again"}}
	must(t, db.Clauses(constraint).Create(&cities))
	equal(t, "key in a batch", cities[1].ID, key)

	constraint.Columns = []clause.Column{{Name: "name"}}
	must(t, db.Create(&city{ID: 50, Code: "TWN", Name: "Twin"}))
	maps := []map[string]any{{"code": "BER", "name": "Twin"}}
	must(t, db.Model(&city{}).Clauses(constraint).Create(&maps))
	equal(t, "key found by columns that are not the target", maps[0]["id"], nil)
}

func TestKeysAreLookedUpInTheTableThatWasWritten(t *testing.T) {
	eachOf(t, kinds[:2], gorm.Config{}, func(t *testing.T, db *env) { // a schema of MariaDB is a database
		want, archive := snowflake.ID(99), fmt.Sprintf("archive%d", rand.Uint64())
		if db.target.Name == "sqlite" { // whose driver writes into the main database
			db.pool.SetMaxOpenConns(1) // what is attached belongs to a connection
			must(t, db.Exec("ATTACH DATABASE ':memory:' AS "+archive))
			want = 17
		} else {
			must(t, db.Exec("CREATE SCHEMA "+archive))
			t.Cleanup(func() { db.Exec("DROP SCHEMA " + archive + " CASCADE") })
		}
		must(t, db.Exec("CREATE TABLE "+archive+".cities (id bigint PRIMARY KEY, code text UNIQUE, name text)"))
		withBerlin(t, db)
		must(t, db.Exec("INSERT INTO "+archive+".cities VALUES (99, 'BER', 'Berlin')"))
		elsewhere := db.Model(&city{}).Table(archive + ".cities").Session(&gorm.Session{})

		maps := []map[string]any{{"code": "BER", "name": "Stadt"}, {"code": "PAR", "name": "Paris"}}
		must(t, elsewhere.Clauses(byCode).Create(&maps))
		equal(t, "key", maps[0]["id"], any(want))
		records := []city{{Code: "BER"}, {Code: "ROM"}}
		must(t, elsewhere.Clauses(nothing).Create(&records))
		wantIDs(t, records[:1], 0) // skipped
		equal(t, "the record that was inserted has its key", records[1].ID != 0, true)
	}, []any{&city{}, &street{}})
}

// refusing is a pool that inserts, and whose queries fail.
type refusing struct{ gorm.ConnPool }

var errRefused = errors.New("no queries here")

func (r refusing) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.HasPrefix(query, "SELECT") {
		return nil, errRefused
	}
	return r.ConnPool.QueryContext(ctx, query, args...)
}

func TestTheErrorOfALookupIsThatOfTheCreate(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		noError(t, db.Create(&renamed{Email: "a"}).Error)
		tx := db.Session(&gorm.Session{SkipDefaultTransaction: true}).Omit("Public").Clauses(clause.OnConflict{DoNothing: true})
		tx.Statement.ConnPool = refusing{tx.Statement.ConnPool}
		wantError(t, tx.Create(&[]renamed{{Email: "a"}, {Email: "b"}}).Error, errRefused)
	}, &renamed{})
}

type (
	branchKid struct {
		ID       snowflake.ID
		ParentID snowflake.ID
		Parent   *branch
		Clear    bool `gorm:"-"`
	}
	branch struct {
		ID   snowflake.ID
		Kids []*branchKid `gorm:"foreignKey:ParentID"`
	}
)

func (k *branchKid) BeforeCreate(*gorm.DB) error {
	if k.Clear {
		k.ID = 0
	}
	return nil
}

// The second record is written through its parent, before the list has lost the pointer that is in it twice.
func TestAPointerThatIsTwiceInAListBesideARecordWrittenByAWayBack(t *testing.T) {
	db := open(t, testdb.SQLite(t), withoutConstraints, []any{&branchKid{}, &branch{}})
	twice, other := &branchKid{ID: 7, Clear: true}, &branchKid{}
	other.Parent = &branch{Kids: []*branchKid{other}}
	list := []*branchKid{twice, twice, other}
	must(t, db.Clauses(clause.OnConflict{DoNothing: true}).Create(&list))

	if twice.ID == 0 || twice.ID == 7 || other.ID == 0 || twice.ID == other.ID {
		t.Errorf("keys %d and %d", twice.ID, other.ID)
	}
	db.wantKeys(t, "branch_kids", twice.ID, other.ID)
}
