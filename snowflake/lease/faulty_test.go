package lease_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

var (
	errDown      = errors.New("the store is down")
	errLostReply = errors.New("the reply was lost")
)

// faulty is a store that fails on demand, and counts calls.
type faulty struct {
	lease.Store
	mu       sync.Mutex
	down     bool           // calls fail without an effect
	lose     map[string]int // how many replies of a method are lost after its effect
	calls    map[string]int
	requests []lease.Request
}

func newFaulty(store lease.Store) *faulty {
	return &faulty{Store: store, lose: map[string]int{}, calls: map[string]int{}}
}

func (f *faulty) setDown(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
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

// begin returns an error if the call must not be made, and whether its reply must be lost.
func (f *faulty) begin(method string) (lost bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
	if f.down {
		return false, errDown
	}
	if f.lose[method] > 0 {
		f.lose[method]--
		return true, nil
	}
	return false, nil
}

func (f *faulty) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	lost, err := f.begin("acquire")
	if err != nil {
		return lease.Grant{}, err
	}
	f.mu.Lock()
	f.requests = append(f.requests, r)
	f.mu.Unlock()
	grant, err := f.Store.Acquire(ctx, r)
	if lost {
		return lease.Grant{}, errLostReply
	}
	return grant, err
}

func (f *faulty) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	lost, err := f.begin("extend")
	if err != nil {
		return time.Time{}, err
	}
	now, err := f.Store.Extend(ctx, c, horizon, ttl)
	if lost {
		return time.Time{}, errLostReply
	}
	return now, err
}

func (f *faulty) Release(ctx context.Context, c lease.Claim, horizon int64) error {
	lost, err := f.begin("release")
	if err != nil {
		return err
	}
	err = f.Store.Release(ctx, c, horizon)
	if lost {
		return errLostReply
	}
	return err
}
