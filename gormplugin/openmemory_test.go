package gormplugin_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestADatabaseInMemoryKeepsItsOneConnection(t *testing.T) {
	for _, dsn := range []string{":memory:", "", "file:private?mode=memory"} {
		t.Run(dsn, func(t *testing.T) {
			h := openHandle(t, sqlite.Open(dsn), gorm.Config{})
			clock := newPushed()
			hook, extended := clock.extensions(t)
			keys := clock.open(t, h, hook)
			h.migrate(t, &user{})
			seen := map[snowflake.ID]bool{}
			err := h.Transaction(func(tx *gorm.DB) error { // extensions find the connection in use
				for range 3 {
					extended()
					users := named("a", "b")
					if err := tx.Create(&users).Error; err != nil {
						return err
					}
					for _, u := range users {
						seen[u.ID] = true
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "keys", len(seen), 6)
			equal(t, "connections", h.pool.Stats().OpenConnections, 1)
			// Nothing was extended, so it has to be held for as long as the database lives.
			if row := h.entries(t)[0]; !row.Held || time.Until(row.Expires) < 365*24*time.Hour || row.Horizon != 0 {
				t.Errorf("the row in between: %+v", row)
			}
			if err := keys.Close(t.Context()); err != nil {
				t.Error(err)
			}
			last := snowflake.Default().Start(h.entries(t)[0].Horizon)
			for id := range seen {
				if !snowflake.Default().Time(id).Before(last) {
					t.Errorf("the key %d is not below the horizon that is left, %v", id, last)
				}
			}
			equal(t, "workers held after Close", h.held(t), 0)
			equal(t, "connections at the end", h.pool.Stats().OpenConnections, 1)
			var rows int64
			must(t, h.Model(&user{}).Count(&rows))
			equal(t, "rows", rows, 6)
		})
	}
}

func TestCloseOpensNoSecondDatabaseInMemory(t *testing.T) {
	h := openHandle(t, sqlite.Open(":memory:"), gorm.Config{})
	keys, err := gormplugin.Open(t.Context(), h.DB)
	if err != nil {
		t.Fatal(err)
	}
	tx := must(t, h.Begin())
	if err := keys.Close(t.Context()); err == nil {
		t.Error("Close while the connection is in use: no error")
	}
	must(t, tx.Rollback())
	equal(t, "connections", h.pool.Stats().OpenConnections, 1)
	equal(t, "workers held", h.held(t), 1)
}

func TestALeaseInMemoryEndsWithItsPool(t *testing.T) {
	h := openHandle(t, sqlite.Open(":memory:"), gorm.Config{})
	ended := make(chan error, 1)
	clock := newPushed()
	keys := clock.open(t, h, lease.WithHook(func(e lease.Event) {
		if e.Kind == lease.Failed {
			ended <- e.Err
		}
	}))
	if err := h.pool.Close(); err != nil {
		t.Fatal(err)
	}
	clock.until(t, "the end", func() bool { return len(ended) > 0 })
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("the lease ended with %v, want os.ErrClosed", err)
	}
	if err := keys.Close(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Close: %v, want os.ErrClosed", err)
	}
}
