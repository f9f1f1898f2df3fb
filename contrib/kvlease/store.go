package kvlease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/internal/checksummed"
	"github.com/sqlflake/sqlflake/internal/order"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// Store is a [leasestore.Store] on a [KV]. It is safe for concurrent use, and several may use the same keys.
type Store struct {
	kv    KV
	now   func() time.Time
	known sync.Map // when the namespaces that were read had been created, by name
}

var _ leasestore.Store = (*Store)(nil)

// New returns a store on the engine, without a call of it. It returns lease.ErrOption for nil.
func New(kv KV) (*Store, error) {
	v := reflect.ValueOf(kv)
	if isNilPointer := v.Kind() == reflect.Pointer && v.IsNil(); isNilPointer || !v.IsValid() {
		return nil, fmt.Errorf("%w: the KV is nil", lease.ErrOption)
	}
	return &Store{kv: kv, now: time.Now}, nil
}

const (
	maxTries  = 5                     // conflicts before the namespace is read again
	maxPause  = 50 * time.Millisecond // between two attempts
	doublings = 4                     // after each conflict it chooses from 2 to the power of it times as many workers
)

// Acquire implements [leasestore.Store], except that after conflicts with other processes it takes one of the next
// workers instead of the next. Among workers with a horizon above the tick it takes the one with the lowest horizon. It
// returns lease.ErrDamaged if a value of the namespace was edited or belongs to another program.
func (s *Store) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasestore.Grant{}, err
	}
	for round := 0; ; round++ {
		if err := pause(ctx, round); err != nil {
			return leasestore.Grant{}, err
		}
		ns, err := s.open(ctx, r)
		if err != nil {
			return leasestore.Grant{}, err
		}
		if ns == nil {
			continue
		}

		now := s.now()
		rows := ns.read(now)
		if own, ok := order.Own(rows, r.Token); ok { // the reply to an earlier call was lost
			return grant(ns.find(own.Worker).row, ns), s.checkVersion(ctx, r.Namespace)
		}

		candidates := order.All(order.Request{First: r.First, Last: r.Last, Tick: r.Tick}, rows)
		taken, ok, err := s.takeOne(ctx, r, ns, candidates, now)
		if ok {
			err = s.checkVersion(ctx, r.Namespace)
		}
		if ok || err != nil {
			return grant(taken, ns), err
		}
	}
}

// open reads the namespace and creates it if it is new. It returns nil if it must be read again.
//
// If it was deleted, processes may still use workers whose rows are deleted. If this store has known it, or the engine
// remembers it, a floor keeps the next owners above all that these can have been granted.
func (s *Store) open(ctx context.Context, r leasestore.Request) (*namespace, error) {
	all, err := s.read(ctx, prefixOf(r.Namespace))
	if err != nil {
		return nil, err
	}

	created := s.now().Round(0).UTC()
	ns := &namespace{
		name:   r.Namespace,
		header: header{Format: format, Namespace: r.Namespace, Layout: r.Layout, Created: created},
	}
	if len(all) > 0 {
		ns = all[0]
	}

	deleted, err := s.wasDeleted(ctx, ns)
	switch {
	case err != nil:
		return nil, err
	case ns.header.Layout != r.Layout:
		return nil, fmt.Errorf("%w: namespace %q has %q, not %q",
			lease.ErrLayout, r.Namespace, ns.header.Layout, r.Layout)
	case deleted:
		ns.header.Floor = s.now().Add(r.Reach).Round(0).UTC()
	case ns.revision != "":
		s.known.Store(r.Namespace, ns.header.Created)
		return ns, nil
	}

	// Of two processes with different layouts only one creates it.
	_, err = s.swap(ctx, prefixOf(r.Namespace)+layoutKey, &ns.header, ns.revision)
	return nil, err
}

// wasDeleted reports whether the namespace was deleted, as far as this store and the engine know, and no floor says so
// yet.
func (s *Store) wasDeleted(ctx context.Context, ns *namespace) (bool, error) {
	if known, ok := s.known.Load(ns.name); ok {
		return known != ns.header.Created && ns.header.Floor.IsZero(), nil
	}

	engine, remembers := s.kv.(historian)
	if !remembers || ns.revision != "" {
		return false, nil
	}
	deleted, err := engine.Existed(ctx, prefixOf(ns.name))
	return deleted, engineError(err)
}

// checkVersion reads the layout again after a row was taken: a later version may have marked the namespace meanwhile,
// and then every row that it found.
func (s *Store) checkVersion(ctx context.Context, name string) error {
	pair, err := s.kv.Get(ctx, prefixOf(name)+layoutKey)
	if err != nil || pair.Revision == "" { // deleted, or unknown to a replica
		return engineError(err)
	}
	return damaged(pair.Key, (&namespace{name: name}).add(pair, -1))
}

// takeOne takes the next candidate. It returns a *lease.NoWorkerError if there is none, and false if others were faster
// every time.
func (s *Store) takeOne(
	ctx context.Context, r leasestore.Request, ns *namespace, from *order.Candidates, now time.Time,
) (row, bool, error) {
	for lost := range maxTries {
		next, ok := from.Take(lost * doublings)
		switch {
		case !ok && lost == 0:
			wait := from.Wait(now)
			return row{}, false, &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: wait}
		case !ok:
			return row{}, false, nil
		}

		taken, ok, err := s.take(ctx, r, ns.find(next.Worker))
		if ok || err != nil {
			return taken, ok, err
		}
	}
	return row{}, false, nil
}

// take takes the worker if its row has not changed since the read. A swap that was answered with false may have been
// done, so the row is read again.
func (s *Store) take(ctx context.Context, r leasestore.Request, c candidate) (row, bool, error) {
	c.Format, c.Token, c.Host, c.PID, c.Version = format, r.Token, r.Holder.Host, r.Holder.PID, r.Holder.Version
	c.Epoch++
	c.hold(r.TTL, s.now())
	key := keyOf(r.Namespace, c.Worker)
	ok, err := s.swap(ctx, key, &c.row, c.revision)
	if ok || err != nil {
		return c.row, ok, err
	}

	pair, err := s.kv.Get(ctx, key)
	if err != nil {
		return row{}, false, engineError(err)
	}
	now, err := readRow(pair, r.Namespace, c.Worker)
	return now, err == nil && now.Token == r.Token, nil
}

func grant(r row, ns *namespace) leasestore.Grant {
	return leasestore.Grant{
		Claim:   leasestore.Claim{Namespace: r.Namespace, Worker: r.Worker, Epoch: r.Epoch, Token: r.Token},
		Horizon: r.Horizon,
		Floor:   ns.header.Floor,
	}
}

// Extend implements [leasestore.Store]. It returns the zero time, since the clock is the caller's.
func (s *Store) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := leasestore.ValidateExtension(c, ttl); err != nil {
		return time.Time{}, err
	}
	return time.Time{}, s.change(ctx, c, func(r *row) {
		r.Horizon = max(r.Horizon, horizon)
		r.Token = c.Next
		r.hold(ttl, s.now())
	})
}

// Release implements [leasestore.Store].
func (s *Store) Release(ctx context.Context, c leasestore.Claim, horizon int64) error {
	return s.change(ctx, c, func(r *row) {
		r.Horizon = min(r.Horizon, max(0, horizon))
		r.release(s.now())
	})
}

// change changes the claim's row, or returns lease.ErrLost. That is final, so a read that is out of date must not be
// the reason for it: the row is then written as it is, which succeeds only if it was the last one. If there is no row,
// the layout is written as it is, and the row read again.
func (s *Store) change(ctx context.Context, c leasestore.Claim, edit func(*row)) error {
	lost := fmt.Errorf("%w: worker %d of namespace %q is not held with epoch %d any more",
		lease.ErrLost, c.Worker, c.Namespace, c.Epoch)
	if c.Namespace == "" || c.Worker < 0 { // they have no key
		return lost
	}

	key := keyOf(c.Namespace, c.Worker)
	current := false // the reads know all that was confirmed before this call
	for round := 0; ; round++ {
		if err := pause(ctx, round); err != nil {
			return err
		}
		pair, err := s.kv.Get(ctx, key)
		if err != nil {
			return engineError(err)
		}
		if pair.Revision == "" {
			if current {
				return lost
			}
			if current, err = s.confirm(ctx, c.Namespace); err != nil {
				return err
			}
			continue
		}
		r, err := readRow(pair, c.Namespace, c.Worker)
		if err != nil {
			return damaged(key, err)
		}

		isToken := r.Token == c.Token || r.Token == c.Next
		owned := isToken && r.Epoch == c.Epoch
		if owned {
			edit(&r)
		}
		ok, err := s.swap(ctx, key, &r, pair.Revision)
		switch {
		case err != nil:
			return err
		case ok && owned:
			return nil
		case ok:
			return lost
		}
	}
}

// confirm writes the layout as it is, and returns false if that must be repeated: a replica that was cut off, and does
// not know the newest rows, can't confirm a write. A namespace without a layout has no rows.
func (s *Store) confirm(ctx context.Context, name string) (bool, error) {
	layout, err := s.kv.Get(ctx, prefixOf(name)+layoutKey)
	if err != nil || layout.Revision == "" {
		return true, engineError(err)
	}
	ok, err := s.kv.Swap(ctx, layout.Key, layout.Value, layout.Revision)
	return ok, engineError(err)
}

func (s *Store) swap(ctx context.Context, key string, v any, revision string) (bool, error) {
	text, err := checksummed.Marshal(v)
	if err != nil {
		return false, fmt.Errorf("kvlease: key %q: %w", key, err)
	}
	ok, err := s.kv.Swap(ctx, key, text, revision)
	return ok, engineError(err)
}

func engineError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("kvlease: %w", err)
}

// List implements [leasestore.Store]. It returns lease.ErrDamaged if it finds a value that is not a lease.
func (s *Store) List(ctx context.Context, name string) ([]leasestore.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	prefix := strings.TrimPrefix(prefixOf(name), "/") // no name means all
	all, err := s.read(ctx, prefix)
	if err != nil {
		return nil, err
	}

	now := s.now()
	var entries []leasestore.Entry
	for _, ns := range all {
		for _, c := range ns.rows {
			entries = append(entries, c.entry(ns.header.Layout, now))
		}
	}

	return entries, nil
}

// pause waits before an attempt after a conflict, and returns the context's error if it has ended.
func pause(ctx context.Context, round int) error {
	if round == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(rand.N(min(time.Millisecond<<min(round, 10), maxPause))):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("kvlease: after %d conflicts: %w", round, ctx.Err())
	}
}
