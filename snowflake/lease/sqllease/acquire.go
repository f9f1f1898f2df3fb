package sqllease

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/sqlflake/sqlflake/internal/order"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// acquireAttempts bounds how often Acquire reads again after losing a race. It is reached only if reads never match
// updates, for example with a pool that reads from a replica.
const acquireAttempts = 100

// Acquire implements [leasestore.Store].
func (s *Store) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasestore.Grant{}, err
	}
	return await(ctx, s, "acquire", func(ctx context.Context) (leasestore.Grant, error) {
		for lost := range acquireAttempts {
			grant, ok, err := s.try(ctx, r, lost)
			if ok || err != nil {
				return grant, err
			}
		}
		return leasestore.Grant{}, s.lostRaces("acquire", r.Namespace)
	})
}

// try reads once and takes the worker that is next; false if another caller was faster.
func (s *Store) try(ctx context.Context, r leasestore.Request, lost int) (leasestore.Grant, bool, error) {
	shot, err := s.open(ctx, r)
	if err != nil {
		return leasestore.Grant{}, false, s.failed("acquire", err)
	}
	n := shot.namespace
	if n == nil {
		return leasestore.Grant{}, false, fmt.Errorf(
			"lease: acquire in table %s: namespace %q is not visible after it was added",
			shot.tables.namespaces, r.Namespace)
	}

	if r, err = n.checkRequest(r); err != nil {
		return leasestore.Grant{}, false, err
	}
	if reread, err := s.repeatShare(ctx, r, n); reread || err != nil {
		return leasestore.Grant{}, false, err
	}

	if !n.hasLeases && !n.empty { // the process that added the first one may have ended before it said so
		if err := s.markLeases(ctx, shot, r.Namespace); err != nil {
			return leasestore.Grant{}, false, err
		}
	}
	if own, ok := order.Own(shot.leases, r.Token); ok {
		return shot.grant(r, own), true, nil
	}
	if start := n.startTime(); start.After(shot.now) {
		return leasestore.Grant{}, false, &lease.NoWorkerError{
			Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: start.Sub(shot.now), Start: start,
		}
	}

	return s.take(ctx, r, shot, lost)
}

// take takes the worker that is next.
func (s *Store) take(
	ctx context.Context, r leasestore.Request, shot snapshot, lost int,
) (grant leasestore.Grant, ok bool, err error) {
	now := shot.now.UnixMilli()
	untilFloor := max(0, shot.namespace.floor()-now)
	if untilFloor > 0 { // the server before may have confirmed the owner of any lease
		shot.leases = nil
	}

	candidates := order.Some(order.Request{First: r.First, Last: r.Last, Tick: r.Tick}, shot.leases)
	ends := int64(0)
	if !candidates.HasPassed() {
		var unused sql.NullInt64
		if unused, ends, err = s.gap(ctx, shot, r); err != nil {
			return leasestore.Grant{}, false, s.failed("acquire", err)
		}
		if unused.Valid {
			candidates.AddUnused(unused.Int64)
		}
	}

	next, ok := candidates.Take(lost)
	hasEnded := ends != 0 && ends <= now
	switch {
	case ok && next.Epoch == 0:
		return s.addLease(ctx, r, shot, next.Worker)
	case ok:
		return s.takeOver(ctx, r, shot, next)
	case hasEnded && untilFloor == 0: // after the read
		return leasestore.Grant{}, false, nil
	}

	return leasestore.Grant{}, false, noWorker(r, duration(max(untilFloor, ends-now)))
}

// checkRequest returns the request for the workers of the share, or why it is refused.
func (n *namespace) checkRequest(r leasestore.Request) (leasestore.Request, error) {
	if err := n.check(r.Namespace); err != nil {
		return r, err
	}
	if n.last < r.First || r.Last < n.first {
		return r, fmt.Errorf("%w: workers %d to %d: namespace %q has the share %d to %d", lease.ErrOption,
			r.First, r.Last, r.Namespace, n.first, n.last)
	}
	r.First, r.Last = max(r.First, n.first), min(r.Last, n.last)
	return r, n.checkLayout(r)
}

func (n *namespace) checkLayout(r leasestore.Request) error {
	if n.layout != r.Layout {
		return fmt.Errorf("%w: namespace %q has %q, not %q", lease.ErrLayout, r.Namespace, n.layout, r.Layout)
	}
	return nil
}

func noWorker(r leasestore.Request, wait time.Duration) error {
	return &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: wait}
}

// gap returns the lowest worker that was never taken, and when the first lease ends, in milliseconds since 1970; 0 if
// none is held.
func (s *Store) gap(
	ctx context.Context, shot snapshot, r leasestore.Request,
) (unused sql.NullInt64, ends int64, err error) {
	if shot.namespace.empty {
		return sql.NullInt64{Int64: r.First, Valid: true}, 0, nil
	}

	values := named{
		"namespace": r.Namespace, "first_worker": r.First, "last_worker": r.Last,
		"generation": shot.namespace.generation,
	}
	var expires sql.NullInt64
	err = shot.query(ctx, s.on(ctx), shot.gap, values, func(scan scan) error { return scan(&unused, &expires) })
	return unused, expires.Int64, err
}

// takeOver takes a worker that is free if it has the epoch that was read.
func (s *Store) takeOver(
	ctx context.Context, r leasestore.Request, shot snapshot, next order.Row,
) (grant leasestore.Grant, ok bool, err error) {
	values := shot.owner(r, next.Worker)
	values["epoch"] = next.Epoch
	// The horizon comes from the UPDATE, since the earlier owner may have extended after the read. From the new epoch
	// on it can't.
	horizon, ok, err := shot.update(ctx, s.on(ctx), shot.takeOver, values)
	if err != nil {
		return leasestore.Grant{}, false, s.failed("acquire", err)
	}
	if ok && horizon < next.Horizon {
		// Either a late release has lowered it, or the server ignores LAST_INSERT_ID(x). The lease has the token, so
		// another read returns it as it is stored.
		return leasestore.Grant{}, false, nil
	}

	return shot.grant(r, order.Row{Worker: next.Worker, Epoch: next.Epoch + 1, Horizon: horizon}), ok, nil
}

// addLease takes a worker that has no row.
//
// On a cluster that takes writes on each node, this node may not have applied a share or a move of another one. The
// first extension finds that out. A reservation has none, so it counts once the row is read with its namespace.
func (s *Store) addLease(
	ctx context.Context, r leasestore.Request, shot snapshot, worker int64,
) (grant leasestore.Grant, ok bool, err error) {
	added, err := shot.change(ctx, s.on(ctx), shot.addLease, shot.owner(r, worker))
	if err != nil {
		return leasestore.Grant{}, false, s.failed("acquire", err)
	}
	if added == 0 {
		return leasestore.Grant{}, false, nil
	}

	if !shot.namespace.hasLeases {
		if err := s.markLeases(ctx, shot, r.Namespace); err != nil {
			return leasestore.Grant{}, false, err
		}
	}

	counts := r.Holder.ReservedFor() == ""
	return shot.grant(r, order.Row{Worker: worker, Epoch: 1, Horizon: shot.namespace.start}), counts, nil
}

// markLeases stores that the namespace has had a lease. If it has none later, it is damaged.
func (s *Store) markLeases(ctx context.Context, shot snapshot, namespace string) error {
	_, err := shot.change(ctx, s.on(ctx), shot.markLeases, named{"namespace": namespace})
	return s.failed("acquire", err)
}

// owner returns the parameters of the statements that give a worker to the caller.
func (shot snapshot) owner(r leasestore.Request, worker int64) named {
	n, host := shot.namespace, r.Holder.Host
	purpose := r.Holder.ReservedFor()
	if purpose != "" {
		host = ""
	}
	return named{
		"namespace": r.Namespace, "worker": worker, "token": r.Token, "ttl_ms": milliseconds(r.TTL),
		"reserved_for": holderText(purpose), "host": holderText(host), "pid": r.Holder.PID,
		"version":    holderText(r.Holder.Version),
		"generation": n.generation, "server_since_ms": n.serverSince, "reach_ms": n.reach,
	}
}

// grant returns the worker. The time is the read's, plus what has passed since: a statement may have waited for a
// lock.
func (shot snapshot) grant(r leasestore.Request, own order.Row) leasestore.Grant {
	grant := leasestore.Grant{
		Claim:   leasestore.Claim{Namespace: r.Namespace, Worker: own.Worker, Epoch: own.Epoch, Token: r.Token},
		Horizon: own.Horizon,
		Table:   shot.shown,
		Warning: shot.warning,
		Forgets: shot.forgets,
		Now:     shot.now.Add(time.Since(shot.at)),
	}
	if floor := shot.namespace.floor(); floor > 0 {
		grant.Floor = time.UnixMilli(floor)
	}
	return grant
}

func (s *Store) lostRaces(what, namespace string) error {
	return fmt.Errorf("lease: %s in table %s: others were faster %d times in namespace %q",
		what, s.tables.leases, acquireAttempts, namespace)
}

// duration converts milliseconds, at most as many as a Duration has.
func duration(ms int64) time.Duration {
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}
