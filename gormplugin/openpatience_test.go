package gormplugin_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// TestThePatienceIsForTheLeaseOnly: calls that take more IDs than a tick has wait for the clock, however long that takes.
func TestThePatienceIsForTheLeaseOnly(t *testing.T) {
	h := openHandle(t, testdb.SQLite(t).Dialector(), gorm.Config{})
	keys := h.leased(t, gormplugin.WithLease(lease.WithPatience(0)))
	for name, ctx := range map[string]context.Context{"no context": context.Background(), "the context of a request": t.Context()} {
		if err := keys.Lease().Generator().Fill(ctx, make([]snowflake.ID, 200_000)); err != nil { // about 40 ms
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAStalledCreateDoesNotSayThatItsContextEnded: programs are silent about errors of a request that was canceled.
func TestAStalledCreateDoesNotSayThatItsContextEnded(t *testing.T) {
	target := testdb.SQLite(t)
	h := openHandle(t, target.Dialector(), gorm.Config{})
	h.leased(t, quick(lease.WithPatience(20*time.Millisecond)))
	h.migrate(t, &user{})
	defer setAside(t, openHandle(t, target.Dialector(), gorm.Config{}))()
	var err error
	eventually(t, "the horizon", func() bool {
		err = h.WithContext(t.Context()).Create(&user{}).Error
		return err != nil
	})
	if !errors.Is(err, snowflake.ErrLeaseStalled) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Create: %v, want ErrLeaseStalled and no error of a context", err)
	}
}

func TestAWaitingCreateEndsWhenItsContextIsCanceled(t *testing.T) {
	target := testdb.SQLite(t)
	h := openHandle(t, target.Dialector(), gorm.Config{})
	keys := h.leased(t, quick(lease.WithPatience(time.Hour)))
	h.migrate(t, &user{})
	defer setAside(t, openHandle(t, target.Dialector(), gorm.Config{}))()
	eventually(t, "the horizon", func() bool { return time.Until(keys.Lease().Status().Horizon) < -time.Second/10 })
	gone := errors.New("the client is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(gone) })
	err := h.WithContext(ctx).Create(&user{}).Error
	if !errors.Is(err, context.Canceled) || !errors.Is(err, gone) {
		t.Errorf("Create: %v, want Canceled and the cause", err)
	}
}
