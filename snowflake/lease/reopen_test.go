package lease_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// life opens the lease of a process that alone has worker 3, with a window of ten minutes, draws IDs and closes it. The
// IDs must be above the last one of the life before. It returns the first and the last one, and how long they took.
func life(t *testing.T, store leasestore.Store, before snowflake.ID, ids int) (first, last snowflake.ID, took time.Duration) {
	t.Helper()
	l := mustOpen(t, store, lease.WithWorkers(3, 3), lease.WithWindow(lease.MaxWindow))
	defer mustClose(t, l)
	batch, start := make([]snowflake.ID, ids), time.Now()
	if err := l.Generator().Fill(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if batch[0] <= before {
		t.Fatalf("ID %d after %d", batch[0], before)
	}
	return batch[0], batch[ids-1], time.Since(start)
}

func TestACleanRestartOfTheOnlyOwnerNeedsNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, last := lease.NewMemory(nil), snowflake.ID(0)
		for round := range 50 {
			var took time.Duration
			if _, last, took = life(t, store, last, 1+round%7*1000); took > 0 { // up to two ticks
				t.Fatalf("round %d: a wait of %v", round+1, took)
			}
			time.Sleep(2 * time.Millisecond) // as many ticks as it may use
		}
	})
}

func TestARestartAfterAKillWaitsForTheOldHorizon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(nil)
		_, last, _ := life(t, killed(store), 0, 1)
		horizon := entry(t, store, 3).Horizon
		time.Sleep(time.Second)
		first, _, took := life(t, store, last, 1)
		tick, err := four(t).Field(first, snowflake.FieldTime)
		if err != nil || tick != horizon || took == 0 {
			t.Errorf("the first tick is %d after %v, the horizon was %d: %v", tick, took, horizon, err)
		}
	})
}
