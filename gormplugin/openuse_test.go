package gormplugin_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestOpenWithAnyConfiguration(t *testing.T) {
	for name, config := range map[string]gorm.Config{
		"prepared":               {PrepareStmt: true},
		"no default transaction": {SkipDefaultTransaction: true},
		"neither":                {PrepareStmt: true, SkipDefaultTransaction: true},
		"no nested transactions": {DisableNestedTransaction: true},
		"in batches":             {CreateBatchSize: 2},
	} {
		t.Run(name, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, target testdb.Target) {
				t.Parallel()
				h := openHandle(t, target.Dialector(), config)
				clock := newPushed()
				hook, extended := clock.extensions(t)
				keys := clock.open(t, h, hook)
				h.migrate(t, &user{})
				for range 2 {
					extended()
					users := named("a", "b", "c")
					must(t, h.Create(&users))
				}
				if err := keys.Close(t.Context()); err != nil {
					t.Error(err)
				}
				var rows int64
				must(t, h.Model(&user{}).Count(&rows))
				equal(t, "rows", rows, 6)
			})
		})
	}
}

// wrapped is a pool of the user's own, as one for tracing. It keeps the statements of ExecContext.
type wrapped struct {
	*sql.DB
	mu         sync.Mutex
	statements []string
}

func (w *wrapped) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	w.mu.Lock()
	w.statements = append(w.statements, query)
	w.mu.Unlock()
	return w.DB.ExecContext(ctx, query, args...)
}

func (w *wrapped) GetDBConn() (*sql.DB, error) { return w.DB, nil }

// wrap returns a session of the handle with a pool of its own.
func (h *handle) wrap(session gorm.Session) (*gorm.DB, *wrapped) {
	own := &wrapped{DB: h.pool}
	db := h.Session(&gorm.Session{Context: context.Background()})
	db.Statement.ConnPool, db.ConnPool = own, own
	return db.Session(&session), own
}

func TestAPoolOfTheUsersOwnIsUsedAsItIs(t *testing.T) {
	for _, prepare := range []bool{false, true} {
		h := openHandle(t, testdb.SQLite(t).Dialector(), gorm.Config{})
		db, own := h.wrap(gorm.Session{PrepareStmt: prepare})
		keys, err := gormplugin.Open(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		if len(own.statements) == 0 {
			t.Error("the lease went past the pool")
		}
		if err := keys.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenCreatesNothingIfTheTableIsThere(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		for _, there := range []bool{false, true} {
			h := openHandle(t, target.Dialector(), gorm.Config{})
			db, own := h.wrap(gorm.Session{})
			keys, err := gormplugin.Open(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			if err := keys.Close(t.Context()); err != nil {
				t.Error(err)
			}
			created := slices.ContainsFunc(own.statements, func(s string) bool { return strings.Contains(s, "CREATE") })
			equal(t, "a CREATE was run", created, !there)
		}
	})
}

func TestAContextThatEndsEndsTheWaitForTheLease(t *testing.T) {
	target := testdb.SQLite(t)
	h := openHandle(t, target.Dialector(), gorm.Config{})
	clock := newPushed()
	clock.open(t, h, lease.WithPatience(0))
	h.migrate(t, &user{})
	defer setAside(t, openHandle(t, target.Dialector(), gorm.Config{}))()
	clock.until(t, "the horizon", func() bool { return h.Create(&user{}).Error != nil })

	stopped := errors.New("stopped")
	for name, ctx := range map[string]func() (context.Context, context.CancelFunc){
		"deadline": func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), 10e6) },
		"cause": func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(stopped)
			return ctx, func() { cancel(nil) }
		},
	} {
		c, cancel := ctx()
		err := h.WithContext(c).Create(&user{}).Error
		cancel()
		if want := c.Err(); !errors.Is(err, want) || name == "cause" && !errors.Is(err, stopped) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNestedTransactionsAndSavepointsKeepTheLease(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		h := openHandle(t, target.Dialector(), gorm.Config{})
		h.leased(t)
		h.migrate(t, &user{})
		undone := errors.New("undone")
		seen := map[snowflake.ID]bool{}
		create := func(db *gorm.DB) {
			t.Helper()
			u := user{Name: "a"}
			must(t, db.Create(&u))
			if seen[u.ID] {
				t.Errorf("key %d was issued twice", u.ID)
			}
			seen[u.ID] = true
		}
		err := h.Transaction(func(tx *gorm.DB) error {
			create(tx)
			if err := tx.Transaction(func(nested *gorm.DB) error { create(nested); return undone }); !errors.Is(err, undone) {
				t.Error(err)
			}
			must(t, tx.SavePoint("s"))
			create(tx)
			must(t, tx.RollbackTo("s"))
			create(tx)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Transaction(func(tx *gorm.DB) error { create(tx); return undone }); !errors.Is(err, undone) {
			t.Error(err)
		}
		create(h.DB)
		var rows int64
		must(t, h.Model(&user{}).Count(&rows))
		equal(t, "rows", rows, 3)
		equal(t, "workers held", h.held(t), 1) // no rollback has undone the lease
	})
}

func TestManyGoroutinesOfSeveralHandlesRepeatNoKey(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		const handles, routines, each = 3, 4, 30
		var (
			wait sync.WaitGroup
			errs = make(chan error, handles*routines*each)
		)
		first := openHandle(t, target.Dialector(), gorm.Config{})
		first.migrate(t, &user{})
		clock := newPushed() // the leases extend meanwhile
		var leased [handles]*handle
		for i := range leased {
			leased[i] = openHandle(t, target.Dialector(), gorm.Config{})
			clock.open(t, leased[i])
		}
		for _, h := range leased {
			for range routines {
				wait.Go(func() {
					for i := range each {
						if i%10 == 0 {
							clock.Push(step)
						}
						errs <- h.Create(&user{Name: "a"}).Error // a key that was issued twice is an error of the primary key
					}
				})
			}
		}
		wait.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		var rows int64
		must(t, first.Model(&user{}).Count(&rows))
		equal(t, "rows", rows, handles*routines*each)
	})
}
