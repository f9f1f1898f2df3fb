package lease_test

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// watched returns a store, and what a copy of the lease's process does at its next extension.
func watched(t *testing.T) (s *altered, copyExtends func()) {
	t.Helper()
	s = &altered{Store: lease.NewMemory(time.Now)}
	var claim atomic.Pointer[leasestore.Claim] // of the row
	s.extend.set(func(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
		now, err := s.Store.Extend(ctx, c, horizon, ttl)
		if err == nil {
			c.Token = c.Next
			claim.Store(&c)
		}
		return now, err
	})

	return s, func() {
		own := *claim.Load()
		own.Next = leasetest.NewToken()
		must(t, errOf(s.Store.Extend(t.Context(), own, 0, time.Hour)))
	}
}

func TestALeaseThatWasCopiedStopsBelowItsHorizon(t *testing.T) {
	for name, test := range map[string]struct {
		options []lease.Option
		want    error
	}{
		"and waits for another worker": {nil, snowflake.ErrLeaseStalled},
		"for good with StopOnLoss":     {[]lease.Option{lease.WithStopOnLoss()}, lease.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, copyExtends := watched(t)
				var events recorder
				l := mustOpen(t, store, append(test.options, lease.WithPatience(0), lease.WithWorkers(0, 0), lease.WithObserver(events.hook))...)
				horizon := l.Status().Horizon
				copyExtends()
				for len(events.kinds()) < 2 {
					mustNext(t, l)
					time.Sleep(time.Millisecond)
				}

				if left := time.Until(horizon); left < 4*time.Second || events.kinds()[1] != lease.Lost {
					t.Fatalf("%v, %v before the horizon, want the loss half a window before", events.kinds(), left)
				}

				wantErr(t, "Next", errOf(l.Generator().Next()), test.want)
				wantErr(t, "Ready", l.Ready(), test.want)
			})
		})
	}
}

// A copy of a virtual machine may have a kernel that returns the same random bytes.
func TestTokensDifferThoughTheKernelRepeatsItself(t *testing.T) {
	random := rand.Reader
	defer func() { rand.Reader = random }()
	rand.Reader = zeros{}
	store := newFaulty(lease.NewMemory(nil))
	for range 2 {
		mustClose(t, mustOpen(t, store))
	}
	if r := store.requests; len(r) != 2 || r[0].Token == r[1].Token {
		t.Errorf("%d requests, the tokens are equal", len(r))
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// The call after a lost reply settles that one, and the next reply is lost again; or the server crashes after each second
// extension, and does not wait for its disk.
func TestIDsDoNotStopIfEverySecondExtensionIsLost(t *testing.T) {
	for _, forget := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store, calls := &altered{Store: lease.NewMemory(time.Now)}, 0
			store.extend.set(func(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
				if calls++; calls%2 == 0 {
					return store.Store.Extend(ctx, c, horizon, ttl)
				}
				if forget {
					return time.Now(), nil
				}
				_, err := store.Store.Extend(ctx, c, horizon, ttl)
				return time.Time{}, errors.Join(errLostReply, err)
			})

			l := mustOpen(t, store, lease.WithPatience(0), lease.WithWorkers(0, 0))
			for range 1000 {
				time.Sleep(time.Second)
				mustNext(t, l)
				if s := l.Status(); time.Until(s.Horizon) < 0 || s.Failures > 1 || s.Epoch != 1 {
					t.Fatalf("forgets %v: %+v at %v", forget, s, time.Now())
				}
			}
		})
	}
}

// life opens the lease of a process that alone has worker 3, with a window of ten minutes, draws IDs and closes it. The
// IDs must be above the last one of the life before. It returns the first and the last one, and how long they took.
func life(t *testing.T, store leasestore.Store, before snowflake.ID, ids int) (first, last snowflake.ID, took time.Duration) {
	t.Helper()
	l := mustOpen(t, store, lease.WithWorkers(3, 3), lease.WithWindow(lease.MaxWindow))
	defer mustClose(t, l)
	batch, start := make([]snowflake.ID, ids), time.Now()
	must(t, l.Generator().Fill(t.Context(), batch))
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

func TestQuickRestartsDoNotMoveTheHorizonFurtherAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := killed(lease.NewMemory(nil))
		for range 10 {
			mustClose(t, mustOpen(t, store, lease.WithWorkers(3, 3)))
		}
		limit := time.Now().Add(lease.DefaultWindow + time.Second)
		if horizon := four(t).Start(entry(t, store, 3).Horizon); horizon.After(limit) {
			t.Errorf("the horizon is %v, after %v", horizon, limit)
		}
	})
}
