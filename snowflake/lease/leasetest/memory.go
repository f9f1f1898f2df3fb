package leasetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Memory is a [lease.Store] in the memory of the process, for tests. It keeps
// what the interface says as long as the process lives. It is safe for concurrent
// use; make it with [NewMemory].
type Memory struct {
	clock func() time.Time // the store's; nil: the process's

	mu         sync.Mutex
	namespaces map[string]*namespace
}

var _ lease.Store = (*Memory)(nil)

// NewMemory returns an empty store whose expiries go by the clock, which must be
// safe for concurrent use and may differ from that of its callers. With nil it is
// time.Now, thus the caller's, and the store returns zero for its time.
func NewMemory(clock func() time.Time) *Memory {
	return &Memory{clock: clock, namespaces: map[string]*namespace{}}
}

// Clone returns a store with the same clock and a copy of what is in this one:
// the backup, or the replica, to which a store that forgets falls back.
func (m *Memory) Clone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	clone := NewMemory(m.clock)
	for name, ns := range m.namespaces {
		rows := make(map[int64]*row, len(ns.rows))
		for worker, r := range ns.rows {
			copied := *r
			rows[worker] = &copied
		}
		clone.namespaces[name] = &namespace{layout: ns.layout, rows: rows}
	}
	return clone
}

// Acquire is as [lease.Store] says. Among workers with a horizon above the tick
// it takes the one with the lowest horizon.
func (m *Memory) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if err := ctx.Err(); err != nil {
		return lease.Grant{}, err
	}
	if err := r.Validate(); err != nil {
		return lease.Grant{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ns := m.namespaces[r.Namespace]
	if ns == nil {
		ns = &namespace{layout: r.Layout, rows: map[int64]*row{}}
		m.namespaces[r.Namespace] = ns
	}
	if ns.layout != r.Layout {
		return lease.Grant{}, fmt.Errorf("%w: namespace %q has %q, not %q", lease.ErrLayout, r.Namespace, ns.layout, r.Layout)
	}
	now := m.now()
	if worker, ok := ns.find(r.Token, now); ok {
		return m.grant(r, worker, ns.rows[worker], now), nil
	}
	worker, ok := ns.choose(r, now)
	if !ok {
		return lease.Grant{}, ns.noWorker(r, now)
	}
	taken := ns.rows[worker]
	if taken == nil {
		taken = &row{}
		ns.rows[worker] = taken
	}
	taken.epoch++
	taken.token, taken.holder, taken.expires = r.Token, r.Holder, now.Add(r.TTL)
	return m.grant(r, worker, taken, now), nil
}

// Extend is as [lease.Store] says.
func (m *Memory) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	if err := lease.ValidateTTL(ttl); err != nil {
		return time.Time{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	owned := m.owned(c)
	if owned == nil {
		return time.Time{}, lost(c)
	}
	now := m.now()
	owned.horizon = max(owned.horizon, horizon)
	owned.expires = now.Add(ttl)
	return m.told(now), nil
}

// Release is as [lease.Store] says. The row keeps the claim's token, so that a
// release whose reply was lost can be repeated until somebody takes the worker.
func (m *Memory) Release(ctx context.Context, c lease.Claim, horizon int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	owned := m.owned(c)
	if owned == nil {
		return lost(c)
	}
	owned.horizon = min(owned.horizon, max(0, horizon))
	if now := m.now(); owned.held(now) {
		owned.expires = now
	}
	return nil
}

// List is as [lease.Store] says.
func (m *Memory) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	var entries []lease.Entry
	for _, name := range slices.Sorted(maps.Keys(m.namespaces)) {
		if namespace != "" && namespace != name {
			continue
		}
		ns := m.namespaces[name]
		for _, worker := range slices.Sorted(maps.Keys(ns.rows)) {
			r := ns.rows[worker]
			entries = append(entries, lease.Entry{
				Claim:   lease.Claim{Namespace: name, Worker: worker, Epoch: r.epoch},
				Layout:  ns.layout,
				Horizon: r.horizon,
				Expires: r.expires,
				Held:    r.held(now),
				Holder:  r.holder,
			})
		}
	}
	return entries, nil
}

func (m *Memory) now() time.Time {
	if m.clock == nil {
		return time.Now()
	}
	return m.clock()
}

// told returns the time as callers get it: the zero Time if the clock is theirs.
func (m *Memory) told(now time.Time) time.Time {
	if m.clock == nil {
		return time.Time{}
	}
	return now
}

func (m *Memory) grant(r lease.Request, worker int64, taken *row, now time.Time) lease.Grant {
	return lease.Grant{
		Claim:   lease.Claim{Namespace: r.Namespace, Worker: worker, Epoch: taken.epoch, Token: taken.token},
		Horizon: taken.horizon,
		Now:     m.told(now),
	}
}

// owned returns the claim's row, nil if it is another owner's.
func (m *Memory) owned(c lease.Claim) *row {
	ns := m.namespaces[c.Namespace]
	if ns == nil {
		return nil
	}
	if r := ns.rows[c.Worker]; r != nil && r.epoch == c.Epoch && r.token == c.Token {
		return r
	}
	return nil
}

func lost(c lease.Claim) error {
	return fmt.Errorf("%w: worker %d in namespace %q, epoch %d", lease.ErrLost, c.Worker, c.Namespace, c.Epoch)
}
