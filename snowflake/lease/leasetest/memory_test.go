package leasetest_test

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

func TestMemoryKeepsWhatAStorePromises(t *testing.T) {
	shared := lease.NewMemory(nil)
	farBack := func() time.Time { return time.Now().AddDate(-50, 0, 0) }
	for name, open := range map[string]func(*testing.T) leasestore.Store{
		"with the caller's clock": func(*testing.T) leasestore.Store { return shared },
		"with a clock far back":   func(*testing.T) leasestore.Store { return lease.NewMemory(farBack) },
	} {
		t.Run(name, func(t *testing.T) { leasetest.Run(t, open, leasetest.InMemory) })
	}
}

func TestMemoryTellsNoTimeIfTheClockIsTheCallers(t *testing.T) {
	store := lease.NewMemory(nil)
	grant, err := store.Acquire(t.Context(), leasestore.Request{Namespace: "n", Token: leasetest.NewToken(), TTL: time.Minute})
	if err != nil || !grant.Now.IsZero() {
		t.Errorf("time %v, error %v; want none", grant.Now, err)
	}
	grant.Next = leasetest.NewToken()
	if now, err := store.Extend(t.Context(), grant.Claim, 1, time.Minute); err != nil || !now.IsZero() {
		t.Errorf("time %v, error %v; want none", now, err)
	}
}
