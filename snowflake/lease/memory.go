package lease

import (
	"cmp"
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

	ns.setHeld(m.now())
	for _, row := range ns.rows {
		change(row)
	}
}

// Acquire implements [leasestore.Store]. Among workers with a horizon above the tick it takes the one with the lowest
// horizon.
func (m *memory) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	if err := cmp.Or(ctx.Err(), r.Validate()); err != nil {
		return leasestore.Grant{}, err
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	ns := m.namespaces[r.Namespace]
	if ns == nil {
		ns = &memoryNamespace{layout: r.Layout, rows: map[int64]*leasestore.Entry{}}
		m.namespaces[r.Namespace] = ns
	}

	if ns.version != "" {
		return leasestore.Grant{}, &VersionError{Namespace: r.Namespace, Version: ns.version}
	}
	if ns.layout != r.Layout {
		return leasestore.Grant{}, fmt.Errorf("%w: namespace %q has %q, the request %q",
			ErrLayout, r.Namespace, ns.layout, r.Layout)
	}

	now := m.now()
	rows := ns.read(now)
	if own, ok := order.Own(rows, r.Token); ok {
		return m.grant(ns.rows[own.Worker], now), nil
	}

	candidates := order.All(order.Request{First: r.First, Last: r.Last, Tick: r.Tick}, rows)
	next, ok := candidates.Take(0)
	if !ok {
		wait := candidates.Wait(now)
		return leasestore.Grant{}, &NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: wait}
	}

	claim := leasestore.Claim{Namespace: r.Namespace, Worker: next.Worker, Epoch: next.Epoch + 1, Token: r.Token}
	taken := &leasestore.Entry{
		Claim: claim, Layout: r.Layout, Horizon: next.Horizon, Expires: now.Add(r.TTL), Holder: r.Holder,
	}
	ns.rows[next.Worker] = taken
	return m.grant(taken, now), nil
}

// Extend implements [leasestore.Store].
func (m *memory) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := cmp.Or(ctx.Err(), leasestore.ValidateExtension(c, ttl)); err != nil {
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

	now := m.now()
	owned.Horizon = max(owned.Horizon, horizon)
	owned.Token, owned.Expires = c.Next, now.Add(ttl)
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

	owned.Horizon = min(owned.Horizon, max(0, horizon))
	if now := m.now(); now.Before(owned.Expires) {
		owned.Expires = now
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

	var entries []leasestore.Entry
	for _, name := range slices.Sorted(maps.Keys(m.namespaces)) {
		if namespace != "" && namespace != name {
			continue
		}

		ns := m.namespaces[name]
		ns.setHeld(m.now())
		for _, worker := range slices.Sorted(maps.Keys(ns.rows)) {
			row := *ns.rows[worker]
			row.Token = ""
			entries = append(entries, row)
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

func (m *memory) grant(row *leasestore.Entry, now time.Time) leasestore.Grant {
	return leasestore.Grant{Claim: row.Claim, Horizon: row.Horizon, Now: m.reported(now)}
}

// owned returns the claim's row, nil if another owner has it.
func (m *memory) owned(c leasestore.Claim) *leasestore.Entry {
	ns := m.namespaces[c.Namespace]
	if ns == nil {
		return nil
	}

	row := ns.rows[c.Worker]
	isClaimed := row != nil && row.Epoch == c.Epoch
	if isClaimed && (row.Token == c.Token || row.Token == c.Next) {
		return row
	}
	return nil
}

func lostClaim(c leasestore.Claim) error {
	return fmt.Errorf("%w: worker %d in namespace %q, epoch %d", ErrLost, c.Worker, c.Namespace, c.Epoch)
}

type memoryNamespace struct {
	layout  string
	version string                      // of the protocol, that a process must know; empty: any
	rows    map[int64]*leasestore.Entry // by worker, with their tokens; Held is set by setHeld
}

// setHeld sets Held of each row as of now.
func (ns *memoryNamespace) setHeld(now time.Time) {
	for _, row := range ns.rows {
		row.Held = now.Before(row.Expires)
	}
}

// read returns the rows for package order.
func (ns *memoryNamespace) read(now time.Time) []order.Row {
	rows := make([]order.Row, 0, len(ns.rows))
	for worker, e := range ns.rows {
		rows = append(rows, order.Row{
			Worker: worker, Epoch: e.Epoch, Horizon: e.Horizon, Token: e.Token,
			Free: !now.Before(e.Expires), FreeFrom: e.Expires,
		})
	}
	return rows
}
