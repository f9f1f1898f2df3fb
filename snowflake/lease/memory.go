package lease

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/internal/order"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// memory fulfills the interface as long as the process runs.
type memory struct {
	clock func() time.Time // the store's; nil: the process's

	mu         sync.Mutex
	namespaces map[string]*memoryNamespace
}

// NewMemory returns an empty store in the memory of the process, for tests, and for programs whose IDs never reach
// another process. Its leases expire by the clock, which must be safe for concurrent use and may differ from the clocks
// of its callers. With nil it is time.Now, the clock of the callers, and the store returns the zero Time for its time.
// It is safe for concurrent use.
func NewMemory(clock func() time.Time) leasestore.Store {
	return &memory{clock: clock, namespaces: map[string]*memoryNamespace{}}
}

// Require sets the version of the protocol that a process must know to use the namespace.
func (m *memory) Require(namespace, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ns := m.namespaces[namespace]; ns != nil {
		ns.version = version
	}
}

// Change calls change for each row of a namespace, to read and set its epoch, token, horizon and expiry. It is for the
// tests of package leasetest.
func (m *memory) Change(namespace string, change func(e *leasestore.Entry)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ns := m.namespaces[namespace]
	if ns == nil {
		return
	}

	now := m.now()
	for worker, r := range ns.rows {
		e := r.entry(namespace, worker, ns.layout, now)
		e.Token = r.token
		change(&e)
		r.epoch, r.token, r.horizon, r.expires = e.Epoch, e.Token, e.Horizon, e.Expires
	}
}

// Acquire implements [leasestore.Store]. Among workers with a horizon above the tick it takes the one with the lowest
// horizon.
func (m *memory) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	if err := ctx.Err(); err != nil {
		return leasestore.Grant{}, err
	}
	if err := r.Validate(); err != nil {
		return leasestore.Grant{}, err
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	ns := m.namespaces[r.Namespace]
	if ns == nil {
		ns = &memoryNamespace{layout: r.Layout, rows: map[int64]*memoryRow{}}
		m.namespaces[r.Namespace] = ns
	}

	if ns.version != "" {
		return leasestore.Grant{}, &VersionError{Namespace: r.Namespace, Version: ns.version}
	}
	if ns.layout != r.Layout {
		return leasestore.Grant{}, fmt.Errorf("%w: namespace %q has %q, not %q",
			ErrLayout, r.Namespace, ns.layout, r.Layout)
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
		return leasestore.Grant{}, &NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: wait}
	}

	taken := ns.rows[next.Worker]
	if taken == nil {
		taken = &memoryRow{}
		ns.rows[next.Worker] = taken
	}
	taken.epoch++
	taken.token, taken.holder, taken.expires = r.Token, r.Holder, now.Add(r.TTL)
	return m.grant(r, next.Worker, ns, now), nil
}

// Extend implements [leasestore.Store].
func (m *memory) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	if err := leasestore.ValidateExtension(c, ttl); err != nil {
		return time.Time{}, err
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	owned := m.owned(c)
	if owned == nil {
		return time.Time{}, lostClaim(c)
	}
	if version := m.namespaces[c.Namespace].version; version != "" {
		return time.Time{}, &VersionError{Namespace: c.Namespace, Version: version}
	}

	owned.horizon = max(owned.horizon, horizon)
	now := m.now()
	owned.token, owned.expires = c.Next, now.Add(ttl)

	return m.reported(now), nil
}

// Release implements [leasestore.Store]. The row keeps its token, so that a release can be repeated.
func (m *memory) Release(ctx context.Context, c leasestore.Claim, horizon int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	owned := m.owned(c)
	if owned == nil {
		return lostClaim(c)
	}

	owned.horizon = min(owned.horizon, max(0, horizon))
	if now := m.now(); owned.held(now) {
		owned.expires = now
	}
	return nil
}

// List implements [leasestore.Store].
func (m *memory) List(ctx context.Context, namespace string) ([]leasestore.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	now := m.now()
	var entries []leasestore.Entry
	for _, name := range slices.Sorted(maps.Keys(m.namespaces)) {
		if namespace != "" && namespace != name {
			continue
		}
		ns := m.namespaces[name]
		for _, worker := range slices.Sorted(maps.Keys(ns.rows)) {
			entries = append(entries, ns.rows[worker].entry(name, worker, ns.layout, now))
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

func (m *memory) grant(r leasestore.Request, worker int64, ns *memoryNamespace, now time.Time) leasestore.Grant {
	taken := ns.rows[worker]
	return leasestore.Grant{
		Claim:   leasestore.Claim{Namespace: r.Namespace, Worker: worker, Epoch: taken.epoch, Token: taken.token},
		Horizon: taken.horizon,
		Now:     m.reported(now),
	}
}

// owned returns the claim's row, nil if another owner has it.
func (m *memory) owned(c leasestore.Claim) *memoryRow {
	ns := m.namespaces[c.Namespace]
	if ns == nil {
		return nil
	}
	r := ns.rows[c.Worker]
	if r == nil || r.epoch != c.Epoch {
		return nil
	}
	if r.token != c.Token && r.token != c.Next {
		return nil
	}
	return r
}

func lostClaim(c leasestore.Claim) error {
	return fmt.Errorf("%w: worker %d in namespace %q, epoch %d", ErrLost, c.Worker, c.Namespace, c.Epoch)
}

type memoryNamespace struct {
	layout  string
	version string               // of the protocol, that a process must know; empty: any
	rows    map[int64]*memoryRow // by worker
}

type memoryRow struct {
	epoch   int64
	token   string
	horizon int64
	expires time.Time
	holder  leasestore.Holder
}

// held reports whether the clock has not reached the expiry.
func (r *memoryRow) held(now time.Time) bool { return now.Before(r.expires) }

func (r *memoryRow) entry(namespace string, worker int64, layout string, now time.Time) leasestore.Entry {
	return leasestore.Entry{
		Claim:   leasestore.Claim{Namespace: namespace, Worker: worker, Epoch: r.epoch},
		Layout:  layout,
		Horizon: r.horizon,
		Expires: r.expires,
		Held:    r.held(now),
		Holder:  r.holder,
	}
}

// read returns the rows for package order.
func (ns *memoryNamespace) read(now time.Time) []order.Row {
	rows := make([]order.Row, 0, len(ns.rows))
	for worker, r := range ns.rows {
		rows = append(rows, order.Row{
			Worker: worker, Epoch: r.epoch, Horizon: r.horizon, Token: r.token, Free: !r.held(now), FreeFrom: r.expires,
		})
	}
	return rows
}
