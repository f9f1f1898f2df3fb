package sqllease

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// acquireAttempts bounds how often Acquire looks again after losing a race. It is reached only if reads never match
// updates, for example with a pool that reads from a replica.
const acquireAttempts = 100

// maxDoublings bounds the choice of a caller that lost races: among at most 2 to the power of it workers.
const maxDoublings = 6

// view is what look has read.
type view struct {
	namespace *namespace // nil: not in use yet
	mine      *candidate
	free      []candidate // in the order of Acquire
	now       time.Time   // of the database
	at        time.Time   // local time just before the query
	warning   error       // for the grant
}

type namespace struct {
	layout     string
	protocol   int64
	changed    int64 // when another server took over, in milliseconds since 1970; 0: never
	reach      int64 // the greatest one ever requested, in milliseconds
	sameServer bool  // as the one that answered
}

// floor returns where new owners start, in milliseconds since 1970; 0: at the horizons of the rows.
func (n *namespace) floor() int64 {
	if n.changed == 0 {
		return 0
	}
	return n.changed + min(n.reach, math.MaxInt64-n.changed)
}

type candidate struct{ worker, epoch, horizon int64 }

// Acquire implements [lease.Store]. Among workers with a horizon above the tick it takes the one with the lowest
// horizon. If others ask at the same time and are faster, it no longer takes the first one in the order.
func (s *Store) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if err := r.Validate(); err != nil {
		return lease.Grant{}, err
	}
	return await(ctx, s, "acquire", func() (lease.Grant, error) {
		for attempt := range acquireAttempts {
			grant, ok, err := s.try(ctx, r, attempt)
			if ok || err != nil {
				return grant, err
			}
		}
		return lease.Grant{}, fmt.Errorf("lease: acquire in table %s: others were faster %d times in namespace %q",
			s.table, acquireAttempts, r.Namespace)
	})
}

// try looks once and takes what it chooses; false if another caller was faster.
func (s *Store) try(ctx context.Context, r lease.Request, attempt int) (lease.Grant, bool, error) {
	q, v, err := s.enter(ctx, r)
	if err != nil {
		return lease.Grant{}, false, s.failed("acquire", err)
	}
	v.warning = q.warning
	switch {
	case v.namespace == nil:
		return lease.Grant{}, false, fmt.Errorf("lease: acquire in table %s: the row of namespace %q is not visible after its insertion",
			s.table, r.Namespace)
	case v.namespace.protocol > 1:
		return lease.Grant{}, false, laterVersion(r.Namespace, v.namespace.protocol)
	case v.namespace.layout != r.Layout:
		return lease.Grant{}, false, fmt.Errorf("%w: namespace %q has %q, not %q",
			lease.ErrLayout, r.Namespace, v.namespace.layout, r.Layout)
	case v.mine != nil:
		return v.grant(r, *v.mine), true, nil
	}
	settles := v.namespace.floor() - v.now.UnixMilli()
	if settles > 0 { // the server before may have confirmed the owner of any row
		v.free = nil
	}
	// Several callers may want the same row. The first attempt keeps the order; later ones choose among more and more
	// rows, so that a hundred processes that start together do not compete for each row in turn.
	spread := 1 << min(attempt, maxDoublings)
	preferred := 0
	for preferred < len(v.free) && v.free[preferred].horizon <= r.Tick {
		preferred++
	}
	if preferred > 0 {
		return s.takeOver(ctx, q, r, v, v.free[rand.N(min(preferred, spread))])
	}
	worker, wait, err := s.gap(ctx, q, r)
	switch {
	case err != nil:
		return lease.Grant{}, false, s.failed("acquire", err)
	case worker >= 0:
		// The numbers after the lowest may be taken, so small steps, and none, stay likely.
		step := rand.Int64N(1 << rand.N(min(attempt, maxDoublings)+1))
		return s.add(ctx, q, r, v, worker+min(step, r.Last-worker))
	case len(v.free) > 0:
		return s.takeOver(ctx, q, r, v, v.free[rand.N(min(len(v.free), spread))])
	case wait <= 0 && settles <= 0:
		return lease.Grant{}, false, nil // one has expired in between
	}
	wait = max(wait, duration(settles))
	return lease.Grant{}, false, &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: wait}
}

// enter adds the namespace if it is new, lets it meet the server and the reach of the request, and looks.
func (s *Store) enter(ctx context.Context, r lease.Request) (*queries, view, error) {
	q, err := s.prepare(ctx)
	if err != nil {
		return nil, view{}, err
	}
	v, err := s.look(ctx, q, r)
	if err == nil && v.namespace == nil {
		_, err = s.db.ExecContext(ctx, q.addNamespace, r.Namespace, milliseconds(r.Reach), r.Layout)
		if err == nil {
			v, err = s.look(ctx, q, r) // another caller may have been faster, with another layout
		}
	}
	n := v.namespace
	if err != nil || n == nil || n.layout != r.Layout || n.sameServer && n.reach >= milliseconds(r.Reach) {
		return q, v, err
	}
	if !n.sameServer {
		if q, err = s.renew(ctx); err != nil {
			return nil, v, err
		}
	}
	// If it changes nothing, another caller was faster, or the server that has answered is a replica that only reads.
	// The conditions of the acquisition decide.
	if err = s.meet(ctx, q, r.Namespace, milliseconds(r.Reach)); err == nil {
		v, err = s.look(ctx, q, r)
	}
	return q, v, err
}

// look reads the namespace, the row of the token, and some free workers.
func (s *Store) look(ctx context.Context, q *queries, r lease.Request) (view, error) {
	v := view{at: time.Now()}
	args := []any{r.Namespace, r.Token, r.First, r.Last, r.Tick, r.Tick, 2 + maxCandidates}
	err := s.query(ctx, q.look, args, func(scan scan) error {
		var c candidate
		var expires, protocol, revision, same, now int64
		var layout string
		if err := scan(&c.worker, &c.epoch, &c.horizon, &expires, &layout, &protocol, &revision, &same, &now); err != nil {
			return err
		}
		v.now = time.UnixMilli(now)
		switch {
		case c.worker < 0:
			same := same == 1 && revision >= s.revision(r.Namespace)
			v.namespace = &namespace{layout: layout, protocol: protocol, changed: expires, reach: c.horizon, sameServer: same}
			s.sawRevision(r.Namespace, revision)
		case expires <= now:
			v.free = append(v.free, c)
		case v.mine == nil:
			v.mine = &c
		}
		return nil
	})
	return v, err
}

// gap returns the lowest worker that was never taken, -1 if there is none, and how long it is until the first expiry.
func (s *Store) gap(ctx context.Context, q *queries, r lease.Request) (worker int64, wait time.Duration, err error) {
	var lowest, expires sql.NullInt64
	var now int64
	args := []any{r.First, r.Namespace, r.First, r.Last - 1, r.Namespace, r.Namespace, r.First, r.Last}
	err = s.query(ctx, q.gap, args, func(scan scan) error { return scan(&lowest, &expires, &now) }) // one row
	if err != nil {
		return -1, 0, err
	}
	if lowest.Valid {
		return lowest.Int64, 0, nil
	}
	return -1, duration(expires.Int64 - now), nil
}

// takeOver takes the row if it is free and has the epoch that was seen.
func (s *Store) takeOver(ctx context.Context, q *queries, r lease.Request, v view, c candidate) (lease.Grant, bool, error) {
	// The horizon comes from the UPDATE, since the earlier owner may have extended after the look. From the new epoch
	// on it can't.
	horizon, ok, err := s.update(ctx, q.takeover, r.Token, milliseconds(r.TTL), holderText(r.Holder.Host), r.Holder.PID,
		holderText(r.Holder.Version), r.Namespace, c.worker, c.epoch, v.namespace.changed, v.namespace.reach)
	if err != nil {
		return lease.Grant{}, false, s.failed("acquire", err)
	}
	if ok && horizon < c.horizon {
		// Either a late release has lowered it, or the server ignores LAST_INSERT_ID(x). The row has the token, so
		// another look returns it as it is stored.
		return lease.Grant{}, false, nil
	}
	return v.grant(r, candidate{c.worker, c.epoch + 1, horizon}), ok, nil
}

// add inserts a row for a worker that has none.
func (s *Store) add(ctx context.Context, q *queries, r lease.Request, v view, worker int64) (lease.Grant, bool, error) {
	added, err := s.change(ctx, "acquire", q.addWorker, worker, r.Token, milliseconds(r.TTL), r.Layout,
		holderText(r.Holder.Host), r.Holder.PID, holderText(r.Holder.Version), r.Namespace, v.namespace.changed, v.namespace.reach)
	if err != nil {
		return lease.Grant{}, false, err
	}
	return v.grant(r, candidate{worker, 1, 0}), added == 1, nil
}

// grant returns the worker. The time is that of look plus what has passed since: a statement may have waited for a
// lock.
func (v view) grant(r lease.Request, c candidate) lease.Grant {
	grant := lease.Grant{
		Claim:   lease.Claim{Namespace: r.Namespace, Worker: c.worker, Epoch: c.epoch, Token: r.Token},
		Horizon: c.horizon,
		Warning: v.warning,
		Now:     v.now.Add(time.Since(v.at)),
	}
	if floor := v.namespace.floor(); floor > 0 {
		grant.Floor = time.UnixMilli(floor)
	}
	return grant
}

func laterVersion(namespace string, protocol int64) error {
	return &lease.VersionError{Namespace: namespace, Version: strconv.FormatInt(protocol, 10)}
}

// duration converts milliseconds, at most as many as a Duration has.
func duration(ms int64) time.Duration {
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}
