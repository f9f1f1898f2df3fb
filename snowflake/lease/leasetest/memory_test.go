package leasetest_test

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

func TestMemoryKeepsWhatAStorePromises(t *testing.T) {
	shared := leasetest.NewMemory(nil)
	farBack := func() time.Time { return time.Now().AddDate(-50, 0, 0) }
	for name, open := range map[string]func(*testing.T) lease.Store{
		"with the caller's clock": func(*testing.T) lease.Store { return shared },
		"with a clock far back":   func(*testing.T) lease.Store { return leasetest.NewMemory(farBack) },
	} {
		t.Run(name, func(t *testing.T) { leasetest.Run(t, open, leasetest.InMemory) })
	}
}

func request() lease.Request {
	return lease.Request{Namespace: "n", Token: leasetest.NewToken(), TTL: time.Minute}
}

func TestMemoryExpiresByItsClock(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	store := leasetest.NewMemory(func() time.Time { return now })
	grant, err := store.Acquire(t.Context(), request())
	if err != nil || !grant.Now.Equal(now) {
		t.Fatalf("time %v, error %v; want %v", grant.Now, err, now)
	}
	now = now.Add(time.Minute - 1)
	if _, err := store.Acquire(t.Context(), request()); err == nil {
		t.Error("the worker was taken a nanosecond before its expiry")
	}
	now = now.Add(1)
	if grant, err = store.Acquire(t.Context(), request()); err != nil || grant.Epoch != 2 {
		t.Errorf("epoch %d, error %v at the expiry; want 2", grant.Epoch, err)
	}
}

func TestMemoryTellsNoTimeIfTheClockIsTheCallers(t *testing.T) {
	store := leasetest.NewMemory(nil)
	grant, err := store.Acquire(t.Context(), request())
	if err != nil || !grant.Now.IsZero() {
		t.Errorf("time %v, error %v; want none", grant.Now, err)
	}
	grant.Next = leasetest.NewToken()
	if now, err := store.Extend(t.Context(), grant.Claim, 1, time.Minute); err != nil || !now.IsZero() {
		t.Errorf("time %v, error %v; want none", now, err)
	}
}
