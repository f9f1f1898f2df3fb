package gormplugin_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestALeaseEndsWithItsPoolAndSaysSo(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		h := openHandle(t, target.Dialector(), gorm.Config{})
		other := openHandle(t, target.Dialector(), gorm.Config{})
		other.migrate(t, &user{})
		clock := newPushed()
		keys := clock.open(t, h)
		err := other.Use(keys)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.pool.Close(); err != nil {
			t.Fatal(err)
		}
		clock.until(t, "an error of the generator", func() bool {
			err = other.Create(&user{Name: "a"}).Error
			return err != nil
		})
		if !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "sql: database is closed") {
			t.Errorf("Create on another handle: %v, want os.ErrClosed and what database/sql says", err)
		}
		if err := keys.Lease().Healthy(); !errors.Is(err, os.ErrClosed) || !errors.Is(keys.Lease().Ready(), os.ErrClosed) {
			t.Errorf("Healthy: %v, Ready: %v, want os.ErrClosed", err, keys.Lease().Ready())
		}
		if len(h.log.takeWarnings()) == 0 {
			t.Error("no warning says that the lease has ended")
		}
		for range 20 { // several times the pause between tries
			clock.Push(step)
			time.Sleep(2 * time.Millisecond) // for a goroutine that should not be there
		}
		if more := h.log.takeWarnings(); len(more) > 0 {
			t.Errorf("%d more warnings: it goes on", len(more))
		}
		if err := keys.Close(t.Context()); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Close: %v, want os.ErrClosed", err)
		}
	})
}

// setAside hides the lease table, and brings it back.
func setAside(t *testing.T, h *handle) (back func()) {
	t.Helper()
	must(t, h.Exec("ALTER TABLE snowflake_leases RENAME TO set_aside"))
	return func() {
		t.Helper()
		must(t, h.Exec("ALTER TABLE set_aside RENAME TO snowflake_leases"))
	}
}

func TestAStoreThatIsGoneIsAnErrorOfCreateAndComesBack(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		h := openHandle(t, target.Dialector(), gorm.Config{})
		clock := newPushed()
		clock.open(t, h, lease.WithPatience(20*time.Millisecond))
		h.migrate(t, &user{})
		must(t, h.Create(&user{Name: "before"}))
		back := setAside(t, openHandle(t, target.Dialector(), gorm.Config{}))
		var err error
		u := user{Name: "never"}
		clock.until(t, "the horizon, and an extension that has failed", func() bool {
			u.ID = 0
			err = h.Create(&u).Error
			if err != nil && (!errors.Is(err, snowflake.ErrLeaseStalled) || u.ID != 0) {
				t.Fatalf("Create: %v, key %d, want ErrLeaseStalled and 0", err, u.ID)
			}
			return err != nil && strings.Contains(err.Error(), "snowflake_leases")
		})
		var rows int64
		must(t, h.Model(&user{}).Where("id = ?", u.ID).Count(&rows)) // the connection is usable
		equal(t, "rows with the key 0", rows, 0)
		eventually(t, "the return of all connections", func() bool { return h.pool.Stats().InUse == 0 })
		back()
		clock.until(t, "the recovery", func() bool { return h.Create(&user{Name: "after"}).Error == nil })
	})
}

func TestALostLeaseGoesOnUnderAnotherWorker(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		h := openHandle(t, target.Dialector(), gorm.Config{})
		clock := newPushed()
		clock.open(t, h)
		h.migrate(t, &user{})
		a := user{Name: "a"}
		must(t, h.Create(&a))
		must(t, h.Exec("UPDATE snowflake_leases SET epoch = epoch + 1, token = 'another', expires_ms = expires_ms + 1000000 WHERE worker >= 0"))
		b := user{Name: "b"}
		clock.until(t, "another worker", func() bool {
			b.ID = 0
			must(t, h.Create(&b))
			return workerOf(b.ID) != workerOf(a.ID)
		})
		if b.ID <= a.ID {
			t.Errorf("key %d comes after %d", b.ID, a.ID)
		}
	})
}

func TestALeaseThatStopsOnLossFailsCreates(t *testing.T) {
	h := openHandle(t, testdb.SQLite(t).Dialector(), gorm.Config{})
	clock := newPushed()
	clock.open(t, h, lease.WithStopOnLoss())
	h.migrate(t, &user{})
	must(t, h.Exec("UPDATE snowflake_leases SET epoch = epoch + 1, token = 'another' WHERE worker >= 0"))
	var err error
	clock.until(t, "the loss", func() bool {
		err = h.Create(&user{Name: "a"}).Error
		return err != nil
	})
	if !errors.Is(err, lease.ErrLost) {
		t.Errorf("Create: %v, want ErrLost", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := h.WithContext(ctx).Create(&user{Name: "a"}).Error; !errors.Is(err, lease.ErrLost) {
		t.Errorf("Create with a context: %v, want ErrLost", err)
	}
}
