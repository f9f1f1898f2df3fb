package leasetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/order"
)

// memory fulfills the interface as long as the process runs.
type memory struct {
	clock func() time.Time // the store's; nil: the process's

	mu         sync.Mutex
	namespaces map[string]*namespace
}

// NewMemory returns an empty store in the memory of the process, for tests of what uses a store. Its expiries go by the
// clock, which must be safe for concurrent use and may differ from that of its callers. With nil it is time.Now, thus
// the caller's, and the store returns the zero Time for its time. It is safe for concurrent use.
func NewMemory(clock func() time.Time) lease.Store { return newMemory(clock) }

func newMemory(clock func() time.Time) *memory {
	return &memory{clock: clock, namespaces: map[string]*namespace{}}
}

// Require sets the version of the protocol that a process must know to use the namespace.
func (m *memory) Require(namespace, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ns := m.namespaces[namespace]; ns != nil {
		ns.version = version
	}
}

// Acquire implements [lease.Store]. Among workers with a horizon above the tick it takes the one with the lowest
// horizon.
func (m *memory) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
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
	if ns.version != "" {
		return lease.Grant{}, &lease.VersionError{Namespace: r.Namespace, Version: ns.version}
	}
	if ns.layout != r.Layout {
		return lease.Grant{}, fmt.Errorf("%w: namespace %q has %q, not %q", lease.ErrLayout, r.Namespace, ns.layout, r.Layout)
	}

	now := m.now()
	rows := ns.read(now)
	if own, ok := order.Own(rows, r.Token); ok {
		return m.grant(r, own.Worker, ns, now), nil
	}

	candidates := order.All(order.Request{First: r.First, Last: r.Last, Tick: r.Tick}, rows)
	next, ok := candidates.Take(0)
	if !ok {
		wait := candidates.Wait(now)
		return lease.Grant{}, &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: wait}
	}

	taken := ns.rows[next.Worker]
	if taken == nil {
		taken = &row{}
		ns.rows[next.Worker] = taken
	}
	taken.epoch++
	taken.token, taken.holder, taken.expires = r.Token, r.Holder, now.Add(r.TTL)
	return m.grant(r, next.Worker, ns, now), nil
}

// Extend implements [lease.Store].
func (m *memory) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	if err := lease.ValidateExtension(c, ttl); err != nil {
		return time.Time{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	owned := m.owned(c)
	if owned == nil {
		return time.Time{}, lost(c)
	}
	if version := m.namespaces[c.Namespace].version; version != "" {
		return time.Time{}, &lease.VersionError{Namespace: c.Namespace, Version: version}
	}
	owned.horizon = max(owned.horizon, horizon)
	now := m.now()
	owned.token, owned.expires = c.Next, now.Add(ttl)
	return m.reported(now), nil
}

// Release implements [lease.Store]. The row keeps its token, so that a release can be repeated.
func (m *memory) Release(ctx context.Context, c lease.Claim, horizon int64) error {
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

// List implements [lease.Store].
func (m *memory) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
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

func (m *memory) now() time.Time {
	if m.clock == nil {
		return time.Now()
	}
	return m.clock()
}

// reported returns the time for callers: the zero Time if the clock is theirs.
func (m *memory) reported(now time.Time) time.Time {
	if m.clock == nil {
		return time.Time{}
	}
	return now
}

func (m *memory) grant(r lease.Request, worker int64, ns *namespace, now time.Time) lease.Grant {
	taken := ns.rows[worker]
	return lease.Grant{
		Claim:   lease.Claim{Namespace: r.Namespace, Worker: worker, Epoch: taken.epoch, Token: taken.token},
		Horizon: taken.horizon,
		Now:     m.reported(now),
	}
}

// owned returns the claim's row, nil if another owner has it.
func (m *memory) owned(c lease.Claim) *row {
	ns := m.namespaces[c.Namespace]
	if ns == nil {
		return nil
	}
	if r := ns.rows[c.Worker]; r != nil && r.epoch == c.Epoch && (r.token == c.Token || r.token == c.Next) {
		return r
	}
	return nil
}

func lost(c lease.Claim) error {
	return fmt.Errorf("%w: worker %d in namespace %q, epoch %d", lease.ErrLost, c.Worker, c.Namespace, c.Epoch)
}

type namespace struct {
	layout  string
	version string         // of the protocol, that a process must know; empty: any
	rows    map[int64]*row // by worker
}

type row struct {
	epoch   int64
	token   string
	horizon int64
	expires time.Time
	holder  lease.Holder
}

// held reports whether the clock has not reached the expiry.
func (r *row) held(now time.Time) bool { return now.Before(r.expires) }

// read returns the rows for package order.
func (ns *namespace) read(now time.Time) []order.Row {
	rows := make([]order.Row, 0, len(ns.rows))
	for worker, r := range ns.rows {
		rows = append(rows, order.Row{
			Worker: worker, Epoch: r.epoch, Horizon: r.horizon, Token: r.token, Free: !r.held(now), FreeFrom: r.expires,
		})
	}
	return rows
}
