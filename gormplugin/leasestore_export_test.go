package gormplugin

import (
	"context"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// WithNow sets the clock of the lease's store. It has to show what the clock of the lease shows.
func WithNow(now func() time.Time) Option {
	return func(c *config) error {
		c.now = now
		return nil
	}
}

// WithOpenTimeout bounds what Open does before it takes a worker.
func WithOpenTimeout(d time.Duration) Option {
	return func(c *config) error {
		c.openTimeout = d
		return nil
	}
}

// promoted is a store after a failover.
type promoted struct {
	lease.Store
	floor time.Time
}

func (s promoted) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	grant.Floor = s.floor
	return grant, err
}

// A create that has to wait must do so before GORM begins its transaction, which holds a connection.
func TestALeaseIsNotFreshBelowTheFloorOfAFailover(t *testing.T) {
	for _, c := range []struct {
		floor   time.Time
		shorter time.Duration // is the window than the half hour that was requested
		want    bool
	}{
		{time.Time{}, 0, true},
		{time.Now(), 0, true},
		{time.Now().Add(time.Hour), 0, false},
		{time.Time{}, 29 * time.Minute, true},
		{time.Time{}, 30 * time.Minute, false},
	} {
		store := &leaseStore{Store: promoted{leasetest.NewMemory(time.Now), c.floor}, now: time.Now}
		grant, err := store.Acquire(t.Context(), lease.Request{Namespace: "n", Token: leasetest.NewToken(), TTL: time.Hour, Reach: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		reservation := lease.Request{Namespace: "n", Token: leasetest.NewToken(), TTL: 2 * forever, First: 1, Last: 1}
		if _, err := store.Acquire(t.Context(), reservation); err != nil { // which is not of this lease
			t.Fatal(err)
		}
		grant.Next, grant.Reach = leasetest.NewToken(), time.Hour-c.shorter
		if _, err := store.Extend(t.Context(), grant.Claim, 10, time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := store.isFresh(); got != c.want {
			t.Errorf("with a floor of %v, a window shorter by %v: %v, want %v", c.floor, c.shorter, got, c.want)
		}
	}
}
