package leasetest

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

const (
	crowd        = 40 // goroutines, and workers
	unnamedLimit = 20 // errors that the interface doesn't name, one after another, before a test fails
)

var concurrencyTests = []test{
	{promise: "40 callers get 40 different workers, and the 41st gets none", run: func(f *fixture) {
		for _, grant := range f.crowd(1) { // never taken
			f.release(grant.Claim)
		}
		f.crowd(2) // taken over
	}},
	{promise: "extensions at the same time leave the highest horizon", run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		horizons := gather(8, func(add func(int64)) {
			for range 5 {
				horizon := rand.Int64N(1_000_000)
				if err := f.persistExtend(claim, horizon); err != nil {
					f.Error(err)
				}
				add(horizon)
			}
		})
		f.wantRow(slices.Max(horizons), true)
	}},
	{promise: "of copies of a claim that extend at once one succeeds, the others are ErrLost", run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		for range 5 {
			winners := gather(8, func(add func(leasestore.Claim)) {
				own := claim
				own.Next = NewToken()
				err := f.persistExtend(own, 1000)
				if err == nil {
					add(own)
				} else if !errors.Is(err, lease.ErrLost) {
					f.Error(err)
				}
			})
			if len(winners) != 1 {
				f.Fatalf("%d of 8 extensions succeeded, want 1", len(winners))
			}
			claim.Token = winners[0].Next
		}
	}},
	{promise: "what owners may use of a worker never overlaps", run: func(f *fixture) {
		checkSpans(f, gather(6, func(add func(span)) {
			for range 15 {
				if s, ok := f.own(); ok {
					add(s)
				}
			}
		}))
	}},
}

// crowd lets one goroutine more ask than there are workers.
func (f *fixture) crowd(wantEpoch int64) []leasestore.Grant {
	f.Helper()
	grants := gather(crowd, func(add func(leasestore.Grant)) {
		grant, err := f.ask(f.request(100, 100+crowd-1))
		if err != nil {
			f.Error(err)
			return
		}
		add(grant)
	})

	workers := map[int64]bool{}
	for _, grant := range grants {
		workers[grant.Worker] = true
		if grant.Epoch != wantEpoch {
			f.Errorf("worker %d has epoch %d, want %d", grant.Worker, grant.Epoch, wantEpoch)
		}
	}
	if len(workers) != crowd {
		f.Fatalf("%d callers got %d different workers", crowd, len(workers))
	}

	none := f.wantNone(100, 100+crowd-1)
	if !f.settings.NoExpiry && none.Wait <= 0 {
		f.Errorf("the wait is %v, want a positive one", none.Wait)
	}
	return grants
}

// persist makes a call as a lease does: after an error that leaves the outcome open it makes the same again.
func persist[T any](call func() (T, error)) (answer T, err error) {
	for range unnamedLimit {
		if answer, err = call(); !unnamed(err) {
			return answer, err
		}
		time.Sleep(rand.N(pause))
	}
	return answer, err
}

// ask is Acquire for any goroutine.
func (f *fixture) ask(r leasestore.Request) (leasestore.Grant, error) {
	return persist(func() (leasestore.Grant, error) { return f.store.Acquire(f.Context(), r) })
}

// persistExtend is Extend for any goroutine.
func (f *fixture) persistExtend(c leasestore.Claim, horizon int64) error {
	return errOf(persist(func() (time.Time, error) { return f.store.Extend(f.Context(), c, horizon, long) }))
}

// gather runs n calls at the same time, and returns all that they have added.
func gather[T any](n int, call func(add func(T))) (all []T) {
	var mu sync.Mutex
	add := func(v T) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, v)
	}

	start := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			<-start
			call(add)
		})
	}
	close(start)
	wg.Wait()
	return all
}

// span is what one owner may use: the ticks from the horizon it got to the last one that was committed for it, or to
// the one that its release named.
type span struct {
	worker, epoch, from, to int64
}

// own takes one of two workers for so short a time that others are waiting for it. It extends it after pauses that may
// be longer than the TTL, and then gives a part of it back or abandons it.
func (f *fixture) own() (s span, ok bool) {
	const ttl = 2 * time.Millisecond
	r := f.request(0, 1)
	r.TTL = ttl
	deadline := time.Now().Add(f.patience)
	grant, err := f.ask(r)
	for errors.Is(err, lease.ErrNoWorker) && time.Now().Before(deadline) {
		time.Sleep(rand.N(time.Millisecond))
		grant, err = f.ask(r)
	}
	if err != nil {
		f.Error(err)
		return s, false
	}

	grant.Next = NewToken()
	s = span{grant.Worker, grant.Epoch, grant.Horizon, grant.Horizon}
	for n := range 1 + rand.N(4) {
		if n > 0 {
			time.Sleep(rand.N(2 * ttl))
		}
		_, err := f.store.Extend(f.Context(), grant.Claim, s.to+10, ttl)
		if errors.Is(err, lease.ErrLost) {
			return s, true
		}
		if err == nil {
			s.to += 10
			grant.Token, grant.Next = grant.Next, NewToken()
		} else if !unnamed(err) {
			f.Error(err)
		}
	}

	if f.settings.NoExpiry || rand.N(2) == 0 {
		s.to = s.from + rand.Int64N(s.to-s.from+1)
		err := f.store.Release(f.Context(), grant.Claim, s.to)
		if isAllowed := errors.Is(err, lease.ErrLost) || unnamed(err); err != nil && !isAllowed {
			f.Error(err)
		}
	}

	return s, true
}

func checkSpans(f *fixture, spans []span) {
	f.Helper()
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.worker, b.worker), cmp.Compare(a.epoch, b.epoch))
	})

	for i := 1; i < len(spans); i++ {
		a, b := spans[i-1], spans[i]
		switch {
		case a.worker != b.worker:
		case a.epoch == b.epoch:
			f.Errorf("worker %d was given to two with epoch %d", a.worker, a.epoch)
		case b.from < a.to:
			f.Errorf("worker %d: epoch %d may use the ticks from %d to %d, epoch %d those from %d to %d",
				a.worker, a.epoch, a.from, a.to, b.epoch, b.from, b.to)
		}
	}
}
