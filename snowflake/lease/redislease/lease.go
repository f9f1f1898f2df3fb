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
	holder, _ := json.Marshal(r.Holder) // strings never fail
	tick := ""                          // of a clock before the layout's epoch: every horizon is above it
	if r.Tick >= 0 {
		tick = digits(r.Tick)
	}
	word, reply, err := s.call(ctx, acquireScript, r.Namespace,
		r.Layout, digits(r.First), digits(r.Last), r.Token, milliseconds(r.TTL), tick, holder)
	if err != nil {
		return lease.Grant{}, err
	}
	switch word {
	case "granted": // worker, epoch, horizon, seconds, microseconds
		n, err := s.numbers(r.Namespace, reply, 5)
		if err != nil {
			return lease.Grant{}, err
		}
		return lease.Grant{
			Claim:   lease.Claim{Namespace: r.Namespace, Worker: n[0], Epoch: n[1], Token: r.Token},
			Horizon: max(n[2], start), Now: time.Unix(n[3], n[4]*1000), Warning: warning,
		}, nil
	case "held":
		n, err := s.numbers(r.Namespace, reply, 1)
		if err != nil {
			return lease.Grant{}, err
		}
		return lease.Grant{}, &lease.NoWorkerError{
			Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: time.Duration(n[0]) * time.Millisecond,
		}
	case "layout":
		return lease.Grant{}, fmt.Errorf("%w: namespace %q has %q, not %q", lease.ErrLayout, r.Namespace, reply[0], r.Layout)
	case "corrupt":
		return lease.Grant{}, s.corrupt(r.Namespace, reply[0])
	}
	return lease.Grant{}, s.unexpected(r.Namespace, word)
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
	now, err := s.numbers(c.Namespace, reply, 2)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(now[0], now[1]*1000), nil
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, c lease.Claim, horizon int64) error {
	_, err := s.claim(ctx, releaseScript, c, digits(max(0, horizon)))
	return err
}
