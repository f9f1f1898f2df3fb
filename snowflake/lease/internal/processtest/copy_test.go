package processtest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/stepwise"
)

// twin is one of two copies of a process, on the real clock.
type twin struct {
	stepwise.Controls
	lease *lease.Lease
	gen   *snowflake.Generator
	lost  atomic.Bool
}

func newTwin(store lease.Store, window time.Duration) (*twin, error) {
	w := &twin{}
	l, controls, err := stepwise.New(store, []lease.Option{
		lease.WithWindow(window), lease.WithWorkers(3, 3), lease.WithPatience(0), lease.WithLogger(slog.New(slog.DiscardHandler)),
		lease.WithHook(func(e lease.Event) {
			if e.Kind == lease.Lost {
				w.lost.Store(true)
			}
		}),
	})
	if err != nil {
		return nil, err
	}
	w.Controls, w.lease = controls, l.(*lease.Lease)
	w.gen = w.lease.Generator()
	return w, nil
}

// run makes steps, the first one after the wait, until it has lost the worker or the context ends.
func (w *twin) run(ctx context.Context, wait time.Duration) error {
	for !w.lost.Load() {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		var err error
		if wait, err = w.Step(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// awayStore is a store that can be out of reach.
type awayStore struct {
	lease.Store
	away atomic.Bool
}

func (s *awayStore) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if s.away.Load() {
		return time.Time{}, errors.New("the store is out of reach")
	}
	return s.Store.Extend(ctx, c, horizon, ttl)
}

// copies is what two copies did that drew IDs in turn.
type copies struct {
	horizon  int64         // that the process had asked for when it was copied
	repeated int           // IDs that both have issued
	highest  int64         // tick of these
	last     time.Duration // from the copy to the last ID of the one that has lost the worker
	losses   int
}

// copyProcess copies a process right after an extension, when the next one is farthest away, and lets both go on with
// the same timer. If the store is out of reach from then on, it comes back when neither has IDs left.
func copyProcess(t *testing.T, place lease.Store, window time.Duration, away bool) copies {
	t.Helper()
	store := &awayStore{Store: place}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, err := newTwin(store, window)
	if err != nil {
		t.Fatal(err)
	}
	var wait time.Duration
	for extended := false; !extended; {
		extended = first.State().Held
		if wait, err = first.Step(ctx); err != nil {
			t.Fatal(err)
		}
		extended = extended && first.State().Retries == 0
	}
	before := first.gen.MustNext()
	second, err := newTwin(store, window)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Copy(first.lease, tickOf(before)+1); err != nil {
		t.Fatal(err)
	}
	copied := time.Now()
	c := copies{horizon: first.State().Asked}
	store.away.Store(away)
	var steps sync.WaitGroup
	for _, w := range []*twin{first, second} {
		steps.Go(func() {
			if err := w.run(ctx, wait); err != nil {
				t.Error(err)
			}
		})
	}
	issued, ends := map[snowflake.ID]bool{before: true}, [2]time.Duration{}
	// The loss is known at once. For a while longer no ID of the loser follows.
	for known := time.Duration(0); known == 0 || time.Since(copied) < known+window/8; time.Sleep(100 * time.Microsecond) {
		stalled := 0
		for i, w := range []*twin{first, second} {
			id, err := w.gen.Next()
			if errors.Is(err, snowflake.ErrLeaseStalled) {
				stalled++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			ends[i] = time.Since(copied)
			if issued[id] {
				c.repeated++
				c.highest = max(c.highest, tickOf(id))
			}
			issued[id] = true
		}
		if stalled == 2 {
			store.away.Store(false)
		}
		if known == 0 && (first.lost.Load() || second.lost.Load()) {
			known = time.Since(copied)
		}
	}
	cancel()
	steps.Wait()
	for i, w := range []*twin{first, second} {
		if w.lost.Load() {
			c.losses++
			c.last = ends[i]
		}
		if err := w.lease.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	return c
}

func (c copies) check(t *testing.T) {
	t.Helper()
	if c.losses != 1 {
		t.Errorf("%d of two copies were told that they have lost the worker, want 1", c.losses)
	}
	if c.repeated == 0 || c.highest >= c.horizon {
		t.Errorf("%d IDs were issued twice, the last of tick %d; want some, all below the horizon at the copy, %d",
			c.repeated, c.highest, c.horizon)
	}
}

// TestACopyOfAProcessIsFoundOut measures how long two copies of a process issue the same IDs: with a window of 200 ms,
// or with SNOWFLAKE_TEST_LONG=1 with the default window.
func TestACopyOfAProcessIsFoundOut(t *testing.T) {
	for _, away := range []bool{false, true} {
		t.Run(map[bool]string{false: "the store answers", true: "the store is away"}[away], func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, p place) {
				window := 200 * time.Millisecond * time.Duration(Scale(1, int(lease.DefaultWindow/(200*time.Millisecond))))
				store := p.store(t)
				c := copyProcess(t, store, window, away)
				// The machine may have held the copies up until their windows had passed.
				for tries := 1; c.repeated == 0 && tries < 10; tries++ {
					c = copyProcess(t, store, window, away)
				}
				c.check(t)
				t.Logf("with a window of %v, %d IDs were issued twice; the last ID of the loser came %v after the copy",
					window, c.repeated, c.last.Round(time.Millisecond))
			})
		})
	}
}
