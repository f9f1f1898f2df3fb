package redislease

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Acquire implements [lease.Store], and raises the horizon if [WithGuard] is used. Among workers with a horizon above
// the tick it takes the one with the lowest horizon. Each call checks whether Redis would evict the keys. If so it
// returns lease.ErrOption or, if an earlier call has found that Redis would not, a Grant.Warning.
func (s *Store) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if err := r.Validate(); err != nil {
		return lease.Grant{}, err
	}
	start, err := s.start(r)
	if err != nil {
		return lease.Grant{}, err
	}
	warning, err := s.checkEviction(ctx)
	if err != nil {
		return lease.Grant{}, err
	}
	holder, err := json.Marshal(r.Holder)
	if err != nil {
		return lease.Grant{}, fmt.Errorf("redislease: holder: %w", err)
	}
	tick := "" // of a clock before the layout's epoch: every horizon is above it
	if r.Tick >= 0 {
		tick = digits(r.Tick)
	}
	word, reply, err := s.call(ctx, acquireScript, r.Namespace,
		r.Layout, digits(r.First), digits(r.Last), r.Token, milliseconds(r.TTL), tick, holder)
	if err != nil {
		return lease.Grant{}, err
	}
	switch word {
	case "granted":
		grant, ok := granted(r, reply)
		if !ok {
			return lease.Grant{}, s.unexpected(r.Namespace, reply)
		}
		grant.Horizon, grant.Warning = max(grant.Horizon, start), warning
		return grant, nil
	case "held":
		wait, _ := number(reply, 0)
		return lease.Grant{}, &lease.NoWorkerError{
			Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: time.Duration(wait) * time.Millisecond,
		}
	case "layout":
		return lease.Grant{}, fmt.Errorf("%w: namespace %q has %q, not %q", lease.ErrLayout, r.Namespace, reply[0], r.Layout)
	case "corrupt":
		return lease.Grant{}, fmt.Errorf("redislease: key %q: the field %q is not a row of a lease", s.key(r.Namespace), reply[0])
	}
	return lease.Grant{}, s.unexpected(r.Namespace, word)
}

func granted(r lease.Request, reply []any) (lease.Grant, bool) {
	worker, ok := number(reply, 0)
	epoch, ok2 := number(reply, 1)
	horizon, ok3 := number(reply, 2)
	now, ok4 := clock(reply, 3)
	return lease.Grant{
		Claim:   lease.Claim{Namespace: r.Namespace, Worker: worker, Epoch: epoch, Token: r.Token},
		Horizon: horizon, Now: now,
	}, ok && ok2 && ok3 && ok4
}

// start returns the first tick that the guard allows.
func (s *Store) start(r lease.Request) (int64, error) {
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

// Extend implements [lease.Store], except that with [WithGuard] it returns lease.ErrLost after the expiry.
func (s *Store) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := lease.ValidateExtension(c, ttl); err != nil {
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
	now, ok := clock(reply, 0)
	if !ok {
		return time.Time{}, s.unexpected(c.Namespace, reply)
	}
	return now, nil
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, c lease.Claim, horizon int64) error {
	_, err := s.claim(ctx, releaseScript, c, digits(max(0, horizon)))
	return err
}
