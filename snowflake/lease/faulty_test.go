package lease_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

var (
	errDown      = errors.New("the store is down")
	errLostReply = errors.New("the reply was lost")
)

// faulty is a store that fails on demand, and counts calls.
type faulty struct {
	leasestore.Store
	down     atomic.Bool // calls fail without an effect
	mu       sync.Mutex
	lose     map[string]int // how many replies of a method are lost after its effect
	calls    map[string]int
	requests []leasestore.Request
}

func newFaulty(store leasestore.Store) *faulty {
	return &faulty{Store: store, lose: map[string]int{}, calls: map[string]int{}}
}

func (f *faulty) setDown(down bool) { f.down.Store(down) }

// robbed begins an outage in which the lease of worker 0 expires, and returns the lease of another process that has
// taken the worker.
func (f *faulty) robbed(t *testing.T) *lease.Lease {
	t.Helper()
	f.setDown(true)
	time.Sleep(25 * time.Second)
	return mustOpen(t, f.Store, lease.WithWorkers(0, 0))
}

func (f *faulty) loseNext(method string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose[method] = n
}

func (f *faulty) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// call makes a call that may fail before its effect or after it.
func (f *faulty) call(method string, do func() error) error {
	down := f.down.Load()
	f.mu.Lock()
	f.calls[method]++
	lost := !down && f.lose[method] > 0
	if lost {
		f.lose[method]--
	}

	f.mu.Unlock()
	if down {
		return errDown
	}

	if err := do(); !lost {
		return err
	}

	return errLostReply
}

func (f *faulty) Acquire(ctx context.Context, r leasestore.Request) (grant leasestore.Grant, err error) {
	err = f.call("acquire", func() error {
		f.mu.Lock()
		f.requests = append(f.requests, r)
		f.mu.Unlock()
		grant, err = f.Store.Acquire(ctx, r)
		return err
	})
	return grant, err
}

func (f *faulty) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (now time.Time, err error) {
	err = f.call("extend", func() error {
		now, err = f.Store.Extend(ctx, c, horizon, ttl)
		return err
	})
	return now, err
}

func (f *faulty) Release(ctx context.Context, c leasestore.Claim, horizon int64) error {
	return f.call("release", func() error { return f.Store.Release(ctx, c, horizon) })
}

type (
	acquireFunc = func(context.Context, leasestore.Request) (leasestore.Grant, error)
	extendFunc  = func(context.Context, leasestore.Claim, int64, time.Duration) (time.Time, error)
	releaseFunc = func(context.Context, leasestore.Claim, int64) error
)

// altered is a store with other methods, where they are set. They may change while it is in use.
type altered struct {
	leasestore.Store
	acquire method[acquireFunc]
	extend  method[extendFunc]
	release method[releaseFunc]
}

type method[F any] struct{ atomic.Pointer[F] }

func (m *method[F]) set(f F) { m.Store(&f) }

func (m *method[F]) or(usual F) F {
	if f := m.Load(); f != nil {
		return *f
	}
	return usual
}

func (s *altered) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	return s.acquire.or(s.Store.Acquire)(ctx, r)
}

func (s *altered) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	return s.extend.or(s.Store.Extend)(ctx, c, horizon, ttl)
}

func (s *altered) Release(ctx context.Context, c leasestore.Claim, horizon int64) error {
	return s.release.or(s.Store.Release)(ctx, c, horizon)
}

// granting makes Acquire change what it returns.
func (s *altered) granting(change func(r leasestore.Request, g *leasestore.Grant)) {
	s.acquire.set(func(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
		grant, err := s.Store.Acquire(ctx, r)
		if err == nil {
			change(r, &grant)
		}
		return grant, err
	})
}

// extending makes Extend use another claim.
func (s *altered) extending(change func(c *leasestore.Claim)) {
	s.extend.set(func(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
		change(&c)
		return s.Store.Extend(ctx, c, horizon, ttl)
	})
}

// killed returns a store whose releases free the worker and lower nothing, like the expiry after a kill.
func killed(store leasestore.Store) *altered {
	s := &altered{Store: store}
	s.release.set(func(ctx context.Context, c leasestore.Claim, _ int64) error {
		return store.Release(ctx, c, math.MaxInt64)
	})
	return s
}
