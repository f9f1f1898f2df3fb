package sqllease

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
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
	table     string      // for the grant
	warning   error       // for the grant
	forgets   bool        // the same
}

type namespace struct {
	settings
	text       string // of the settings
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

type candidate struct {
	worker, epoch int64
	horizon       int64 // in ticks of the namespace's layout
}

// knownProtocol is the latest version of the protocol that this code knows.
const knownProtocol = 2

// Acquire implements [lease.Store]. Among workers with a horizon above the tick it takes the one with the lowest
// horizon. If others ask at the same time and are faster, it no longer takes the first one in the order.
func (s *Store) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if err := r.Validate(); err != nil {
		return lease.Grant{}, err
	}
	return await(ctx, s, "acquire", func(ctx context.Context) (lease.Grant, error) {
		for attempt := range acquireAttempts {
			grant, ok, err := s.try(ctx, r, attempt)
			if ok || err != nil {
				return grant, err
			}
		}
		return lease.Grant{}, s.tooFast("acquire", r.Namespace)
	})
}

// try looks once and takes what it chooses; false if another caller was faster.
func (s *Store) try(ctx context.Context, r lease.Request, attempt int) (lease.Grant, bool, error) {
	q, v, err := s.enter(ctx, r)
	if err != nil {
		return lease.Grant{}, false, s.failed("acquire", err)
	}
	v.table, v.warning = cmp.Or(q.place.Table, strings.ReplaceAll(s.table, vocabulary[s.dialect].quote, "")), q.warning
	v.forgets = q.forgets
	switch {
	case v.namespace == nil:
		return lease.Grant{}, false, fmt.Errorf("lease: acquire in table %s: the row of namespace %q is not visible after its insertion",
			s.table, r.Namespace)
	case v.namespace.protocol > knownProtocol:
		return lease.Grant{}, false, laterVersion(r.Namespace, v.namespace.protocol)
	}
	if share, ok := s.shares.Load(r.Namespace); ok && v.namespace.Workers == nil { // a server that has taken over has forgotten it
		told := r
		told.Layout, told.First, told.Last = v.namespace.layout, share.([2]int64)[0], share.([2]int64)[1]
		if err = s.setShare(ctx, told); errors.Is(err, lease.ErrLayout) {
			err = nil // the next look says so
		}
		return lease.Grant{}, false, err
	}
	if r, err = v.namespace.narrow(r); err == nil {
		err = v.namespace.admit(r)
	}
	switch {
	case err != nil:
		return lease.Grant{}, false, err
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
		// The numbers after the lowest may be taken, so small steps, and none, stay likely. The last one is for Reserve.
		step := rand.Int64N(1 << rand.N(min(attempt, maxDoublings)+1))
		return s.add(ctx, q, r, v, max(worker, min(worker+step, r.Last-1)))
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
	if err == nil && v.namespace == nil && r.TTL > 0 {
		_, err = s.on(ctx).ExecContext(ctx, q.addNamespace, r.Namespace, milliseconds(r.Reach), r.Layout)
		if err == nil {
			v, err = s.look(ctx, q, r) // another caller may have been faster, with another layout
		}
		if err == nil && v.namespace == nil && r.TTL > 0 { // the connection may have settings that are refused
			q, err = s.renew(ctx)
		}
	}
	n := v.namespace
	if err != nil || n == nil || n.layout != r.Layout || n.sameServer && n.reach >= milliseconds(r.Reach) {
		return q, v, err
	}
	horizon := int64(0)
	if !n.sameServer {
		if q, err = s.renew(ctx); err == nil {
			horizon, err = s.horizon(ctx, r.Namespace)
		}
		if err != nil {
			return nil, v, err
		}
	}
	// If it changes nothing, another caller was faster, or the server that has answered is a replica that only reads.
	// The conditions of the acquisition decide.
	if err = s.meet(ctx, q, r.Namespace, milliseconds(r.Reach), horizon); err == nil {
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
		var layout, text string
		err := scan(&c.worker, &c.epoch, &c.horizon, &expires, &layout, &protocol, &revision, &same, &now, &text)
		if err != nil {
			return err
		}
		v.now = time.UnixMilli(now)
		switch {
		case c.worker < 0:
			same := same == 1 && revision >= s.revision(r.Namespace)
			v.namespace = &namespace{text: text, layout: layout, protocol: protocol, changed: expires, reach: c.horizon, sameServer: same}
			s.sawRevision(r.Namespace, revision)
			if protocol <= knownProtocol {
				v.namespace.settings, err = parseSettings(r.Namespace, text)
			}
			if share := v.namespace.Workers; err == nil && share != nil {
				s.shares.Store(r.Namespace, *share)
			}
			return err
		case v.namespace == nil || !v.namespace.has(c.worker): // none is: see SetShare
			return nil
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
		holderText(r.Holder.Version), r.Namespace, c.worker, c.epoch,
		v.namespace.changed, v.namespace.reach, v.namespace.text, v.namespace.layout)
	if err != nil {
		return lease.Grant{}, false, s.failed("acquire", err)
	}
	if ok && horizon < c.horizon {
		// Either a late release has lowered it, or the server ignores LAST_INSERT_ID(x). The row has the token, so
		// another look returns it as it is stored.
		return lease.Grant{}, false, nil
	}
	return v.grant(r, candidate{worker: c.worker, epoch: c.epoch + 1, horizon: horizon}), ok, nil
}

// add inserts a row for a worker that has none.
func (s *Store) add(ctx context.Context, q *queries, r lease.Request, v view, worker int64) (lease.Grant, bool, error) {
	n := v.namespace
	added, err := s.change(ctx, "acquire", q.addWorker, worker, r.Token, 0, milliseconds(r.TTL),
		holderText(r.Holder.Host), r.Holder.PID, holderText(r.Holder.Version), r.Namespace, n.changed, n.reach, n.text, n.layout)
	if err != nil {
		return lease.Grant{}, false, err
	}
	// SetShare may not have found the row. In a namespace that it has to mark, a lease can't extend the row then. In one that
	// is marked, and for a reservation, which is not extended, another look shows whether there is a share now.
	kept := n.protocol < knownProtocol && r.TTL < reserved
	return v.grant(r, candidate{worker: worker, epoch: 1}), added == 1 && kept, nil
}

// grant returns the worker. The time is that of look plus what has passed since: a statement may have waited for a
// lock.
func (v view) grant(r lease.Request, c candidate) lease.Grant {
	grant := lease.Grant{
		Claim:   lease.Claim{Namespace: r.Namespace, Worker: c.worker, Epoch: c.epoch, Token: r.Token},
		Horizon: c.horizon,
		Table:   v.table,
		Warning: v.warning,
		Forgets: v.forgets,
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
