package redislease

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/sqlflake/sqlflake/internal/order"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// After a lost race Acquire chooses among 2 to the power of doublings times as many workers, and it gives up after so
// many races that something must be wrong.
const (
	doublings       = 4
	acquireAttempts = 100
)

// Acquire implements [leasestore.Store], except that after conflicts with other processes it takes one of the next
// workers instead of the next, and raises the horizon if [WithGuard] is used. Among workers with a horizon above the
// tick it takes the one with the lowest horizon. Each call checks whether Redis would evict the keys. If so it returns
// lease.ErrOption or, if an earlier call has found that Redis would not, a Grant.Warning.
func (s *Store) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasestore.Grant{}, err
	}
	start, err := s.start(r)
	if err != nil {
		return leasestore.Grant{}, err
	}
	warning, err := s.checkEviction(ctx)
	if err != nil {
		return leasestore.Grant{}, err
	}

	for lost := range acquireAttempts {
		grant, ok, err := s.tryAcquire(ctx, r, lost)
		if err != nil {
			return leasestore.Grant{}, err
		}
		if ok {
			grant.Horizon, grant.Warning = max(grant.Horizon, start), warning
			return grant, nil
		}
	}

	return leasestore.Grant{}, fmt.Errorf(
		"redislease: key %q: others have changed it %d times between a read and a write",
		s.key(r.Namespace), acquireAttempts)
}

// tryAcquire reads the namespace and takes the worker whose turn it is, or returns false if another caller was faster.
func (s *Store) tryAcquire(ctx context.Context, r leasestore.Request, lost int) (leasestore.Grant, bool, error) {
	found, err := s.read(ctx, r.Namespace)
	if err != nil {
		return leasestore.Grant{}, false, err
	}
	if err = found.check(r); err != nil {
		return leasestore.Grant{}, false, err
	}
	parsed, err := s.rows(found)
	if err != nil {
		return leasestore.Grant{}, false, err
	}
	rows := make([]order.Row, len(parsed))
	for i, row := range parsed {
		rows[i] = row.Row
	}

	if own, ok := order.Own(rows, r.Token); ok { // the reply to an earlier call was lost
		claim := leasestore.Claim{Namespace: r.Namespace, Worker: own.Worker, Epoch: own.Epoch, Token: r.Token}
		return leasestore.Grant{Claim: claim, Horizon: own.Horizon, Now: found.now}, true, nil
	}

	candidates := order.All(order.Request{First: r.First, Last: r.Last, Tick: r.Tick}, rows)
	next, ok := candidates.Take(lost * doublings)
	if !ok {
		return leasestore.Grant{}, false, &lease.NoWorkerError{
			Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: candidates.Wait(found.now),
		}
	}
	return s.take(ctx, r, found, next)
}

// check compares the request with the layout and the protocol of the namespace.
func (v snapshot) check(r leasestore.Request) error {
	if version, ok := v.fields[protocolField]; ok {
		return &lease.VersionError{Namespace: r.Namespace, Version: version}
	}
	if layout, ok := v.fields[layoutField]; ok && layout != r.Layout {
		return fmt.Errorf("%w: namespace %q has %q, not %q", lease.ErrLayout, r.Namespace, layout, r.Layout)
	}
	return nil
}

// take takes the worker if its row and the layout are as they were read, and returns false if not.
func (s *Store) take(
	ctx context.Context, r leasestore.Request, found snapshot, next order.Row,
) (leasestore.Grant, bool, error) {
	if next.Epoch == math.MaxInt64 {
		return leasestore.Grant{}, false, s.corrupt(r.Namespace, digits(next.Worker))
	}
	expires := int64(0)
	if next.Epoch > 0 {
		expires = next.FreeFrom.UnixMilli()
	}
	holder, _ := json.Marshal(r.Holder) // strings never fail

	word, reply, err := s.call(ctx, takeScript, r.Namespace, found.fields[layoutField], r.Layout,
		digits(next.Worker), digits(next.Epoch), digits(expires), digits(next.Epoch+1),
		r.Token, milliseconds(r.TTL), holder)
	if err != nil || word == "changed" {
		return leasestore.Grant{}, false, err
	}

	n, err := s.numbers(r.Namespace, reply, 3) // seconds, microseconds, horizon
	if err != nil {
		return leasestore.Grant{}, false, err
	}
	claim := leasestore.Claim{Namespace: r.Namespace, Worker: next.Worker, Epoch: next.Epoch + 1, Token: r.Token}
	return leasestore.Grant{Claim: claim, Horizon: n[2], Now: time.Unix(n[0], n[1]*1000)}, true, nil
}

// start returns the first tick that the guard allows.
func (s *Store) start(r leasestore.Request) (int64, error) {
	if s.guard == 0 {
		return 0, nil
	}
	layout, err := snowflake.ParseLayout(r.Layout)
	if err != nil {
		return 0, fmt.Errorf("%w: the guard needs the length of a tick: %w", lease.ErrOption, err)
	}
	ticks := int64((s.guard-1)/layout.Tick()) + 1
	if r.Tick > math.MaxInt64-ticks {
		return math.MaxInt64, nil
	}
	return r.Tick + ticks, nil
}

// Extend implements [leasestore.Store], except that with [WithGuard] it returns lease.ErrLost after the expiry.
func (s *Store) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := leasestore.ValidateExtension(c, ttl); err != nil {
		return time.Time{}, err
	}
	guarded := "0"
	if s.guard > 0 {
		guarded = "1"
	}
	reply, err := s.claim(ctx, extendScript, c, digits(max(0, horizon)), milliseconds(ttl), guarded)
	if err != nil {
		return time.Time{}, err
	}
	return s.readTime(c.Namespace, reply)
}

// Release implements [leasestore.Store].
func (s *Store) Release(ctx context.Context, c leasestore.Claim, horizon int64) error {
	_, err := s.claim(ctx, releaseScript, c, digits(max(0, horizon)))
	return err
}
