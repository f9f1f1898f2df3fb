package lease_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// simSQL is a server of a database with the two tables and the rules of sqllease, for schedules with failovers,
// statement by statement: other events may happen between any two, and within one between the reading of the namespace
// and the change of a lease. A statement that nobody waits for any more may do the latter much later. All of them end
// with the server.
type simSQL struct {
	w      *simWorld
	server *simServer
	ns     simNamespace       // the only row of the table of namespaces
	leases map[int64]simLease // by worker
}

// simNamespace is a row of the table of namespaces. The layout is empty if there is none.
type simNamespace struct {
	layout      string
	generation  int64   // how often it has moved
	start       int64   // the first tick of the layout
	firstWorker int64   // of the share that leases may have
	server      *simSQL // the last that was recorded
	serverSince time.Time
	reach       time.Duration // the greatest of all requests
	reachBefore time.Duration // what extensions may have until all replicas know the reach
	reachSince  time.Time     // when the one replaced the other
}

// simLease is a row of the table of leases.
type simLease struct {
	epoch   int64
	token   string
	horizon int64
	expires time.Time
}

func (n *simNamespace) floor() time.Time {
	if n.serverSince.IsZero() {
		return time.Time{}
	}
	return n.serverSince.Add(n.reach)
}

func newSimSQL(w *simWorld) *simSQL {
	return &simSQL{w: w, server: w.newServer(simOffset), leases: map[int64]simLease{}}
}

func (s *simSQL) clock() time.Time { return s.server.now() }

// clone returns a replica. It finds out that it is another server, unless that is broken.
func (s *simSQL) clone(server *simServer) *simSQL {
	replica := &simSQL{w: s.w, server: server, ns: s.ns, leases: maps.Clone(s.leases)}
	if s.w.kind.unaware {
		replica.ns.server = replica
	}
	return replica
}

func (s *simSQL) isBroken(rule string) bool { return s.w.kind.breaks == rule }

// primary returns the server that executes the next statement: the connections find it.
func (s *simSQL) primary() *simSQL { return s.w.memory.(*simSQL) }

// change executes a statement whose condition is about the namespace: may is asked when it begins, and do changes a
// lease after that. It reports whether it was executed.
func (s *simSQL) change(may func(p *simSQL) bool, do func(p *simSQL) bool) (bool, error) {
	p := s.primary()
	if !may(p) {
		return false, nil
	}

	caller := s.w.caller
	if !s.w.healing && s.w.choices.oneIn(10) {
		s.w.late = append(s.w.late, func() {
			if s.primary() == p {
				s.w.tally["late statements"]++
				s.w.note(nil, "a statement that began earlier changes a lease: %v", do(p))
				s.w.audit(caller)
			}
		})
		return false, errSimReply
	}

	s.w.interleave(8)
	if s.primary() != p {
		return false, errSimReply
	}
	return do(p), nil
}

// recordServer lets the namespace know the server, and a reach. The first call adds the namespace.
func (s *simSQL) recordServer(layout string, reach time.Duration) {
	p := s.primary()
	if p.ns.layout == "" {
		p.ns.layout, p.ns.server, p.ns.reach = layout, p, reach
	}
	if p.ns.layout != layout {
		return
	}

	now := p.clock()
	if p.ns.server != p {
		p.ns.serverSince = later(p.ns.serverSince, later(now, p.horizonAhead(now)))
	}
	if reach > p.ns.reach {
		p.ns.reachBefore, p.ns.reachSince = s.limit(p.ns, now), now
	}
	p.ns.server, p.ns.reach = p, max(p.ns.reach, reach)
}

// horizonAhead returns the greatest horizon of a lease that is held, if it is beyond the reach, which shows that clocks
// were ahead.
func (s *simSQL) horizonAhead(now time.Time) (greatest time.Time) {
	layout, _ := snowflake.ParseLayout(s.ns.layout)
	for _, row := range s.leases {
		horizon := layout.Start(row.horizon)
		if now.Before(row.expires) && horizon.Before(now.Add(lease.MaxWindow)) {
			greatest = later(greatest, horizon)
		}
	}

	if !greatest.After(now.Add(s.ns.reach)) || s.isBroken("a floor by the clock alone") {
		return time.Time{}
	}
	s.w.tally["horizons ahead"]++
	return greatest
}

// limit returns the reach that extensions may have: a greater one when every replica has it.
func (s *simSQL) limit(n simNamespace, now time.Time) time.Duration {
	if !n.reachSince.IsZero() && now.Before(n.reachSince.Add(s.w.plan.delay)) {
		return n.reachBefore
	}
	return n.reach
}

// unchanged is the condition that the namespace is as it was read, on the same server.
func unchanged(n simNamespace) func(p *simSQL) bool {
	return func(p *simSQL) bool { return p.ns == n && n.server == p }
}

func (s *simSQL) Acquire(_ context.Context, r leasestore.Request) (leasestore.Grant, error) {
	for range 20 {
		s.recordServer(r.Layout, r.Reach)
		p := s.primary()
		n, rows, now := p.ns, maps.Clone(p.leases), p.clock()
		s.w.interleave(20)
		if n.layout != r.Layout {
			return leasestore.Grant{}, fmt.Errorf("%w: %q", lease.ErrLayout, n.layout)
		}
		if start := s.w.plan.layout.Start(n.start); n.start > 0 && start.After(now) {
			return leasestore.Grant{}, &lease.NoWorkerError{
				Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: start.Sub(now), Start: start,
			}
		}
		share, caller := s.w.plan.share, s.w.caller
		setsShare := n.firstWorker != share && (!caller.opened || !s.isBroken("share forgotten"))
		switch {
		case !caller.sharing:
			r.First = max(r.First, share)
		case setsShare: // when it starts, and knows it from then on
			if p := s.primary(); unchanged(n)(p) {
				p.ns.firstWorker = share
			}
			continue
		}

		worker, ok := s.choose(r, n, rows, now)
		if !ok {
			return leasestore.Grant{}, &lease.NoWorkerError{
				Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: s.w.plan.window / 4,
			}
		}
		if found, was := rows[worker]; was && found.token == r.Token {
			return s.grant(r, worker, found, n, now), nil
		}

		taken, done, err := s.take(r, worker, rows[worker].epoch, n)
		if err != nil {
			return leasestore.Grant{}, err
		}
		if done {
			return s.grant(r, worker, taken, n, now), nil
		}
	}
	return leasestore.Grant{}, errSimReply
}

// take raises the epoch of a worker if it still is as it was read, and free by now.
func (s *simSQL) take(r leasestore.Request, worker, epoch int64, n simNamespace) (taken simLease, done bool, err error) {
	done, err = s.change(unchanged(n), func(p *simSQL) bool {
		row, was := p.leases[worker]
		now := p.clock()
		if row.epoch != epoch || now.Before(row.expires) {
			return false
		}

		if !was { // the statement locks the namespace
			if p.ns.generation != n.generation {
				return false
			}
			row.horizon = n.start
		}

		taken = simLease{epoch: row.epoch + 1, token: r.Token, horizon: row.horizon, expires: p.expiry(now, r.TTL)}
		p.leases[worker] = taken
		return true
	})
	return taken, done, err
}

// choose returns the worker of the token or any that is free.
func (s *simSQL) choose(r leasestore.Request, n simNamespace, rows map[int64]simLease, now time.Time) (int64, bool) {
	afterFloor := !now.Before(n.floor()) || s.isBroken("rows before the floor")
	var free []int64
	for worker := max(r.First, n.firstWorker); worker <= r.Last; worker++ {
		row, was := rows[worker]
		held := now.Before(row.expires)
		if held && row.token == r.Token {
			return worker, true
		}
		if !was || !held && afterFloor {
			free = append(free, worker)
		}
	}

	if len(free) == 0 {
		return 0, false
	}

	return pick(s.w.choices, free...), true
}

func (s *simSQL) grant(r leasestore.Request, worker int64, row simLease, n simNamespace, now time.Time) leasestore.Grant {
	if worker < s.w.plan.share {
		s.w.fail(s.w.caller, "worker %d is outside of the share", worker)
	}
	return leasestore.Grant{
		Claim:   leasestore.Claim{Namespace: r.Namespace, Worker: worker, Epoch: row.epoch, Token: r.Token},
		Horizon: row.horizon, Floor: n.floor(), Now: now, Forgets: !s.isBroken("horizons follow the generator"),
	}
}

// expiry returns when a lease expires: after a failover late enough to be known to come from this server.
func (s *simSQL) expiry(now time.Time, ttl time.Duration) time.Time {
	expires := now.Add(ttl)
	if s.ns.serverSince.IsZero() {
		return expires
	}
	return later(expires, s.ns.serverSince.Add(lease.DefaultMaxSkew+time.Millisecond))
}

func (s *simSQL) Extend(_ context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	for range 10 {
		p := s.primary()
		n, row := p.ns, p.leases[c.Worker]
		if !row.isOf(c) {
			return time.Time{}, fmt.Errorf("%w: worker %d", lease.ErrLost, c.Worker)
		}
		if n.server != p || n.reach < c.Reach {
			s.recordServer(n.layout, c.Reach)
			s.w.interleave(8)
			continue
		}
		if limit := s.limit(n, p.clock()); c.Reach > limit {
			return time.Time{}, &lease.ReachError{
				Namespace: c.Namespace, Reach: c.Reach, Limit: limit,
				Wait: n.reachSince.Add(s.w.plan.delay).Sub(p.clock()),
			}
		}
		known := n.serverSince.IsZero() || row.expires.After(n.serverSince.Add(lease.DefaultMaxSkew))
		if !known && !c.Unexpired() {
			return time.Time{}, fmt.Errorf("%w: worker %d after a failover", lease.ErrLost, c.Worker)
		}

		done, err := s.change(unchanged(n), func(p *simSQL) bool {
			row := p.leases[c.Worker]
			if !row.isOf(c) {
				return false
			}
			row.horizon, row.token, row.expires = max(row.horizon, horizon), c.Next, p.expiry(p.clock(), ttl)
			p.leases[c.Worker] = row
			return true
		})
		if done || err != nil {
			return p.clock(), err
		}
	}
	return time.Time{}, errSimReply
}

// isOf reports whether the claim's owner has the lease.
func (row simLease) isOf(c leasestore.Claim) bool {
	return row.epoch == c.Epoch && (row.token == c.Token || row.token == cmp.Or(c.Next, c.Token))
}

func (s *simSQL) Release(_ context.Context, c leasestore.Claim, horizon int64) error {
	p := s.primary()
	row := p.leases[c.Worker]
	if !row.isOf(c) {
		return fmt.Errorf("%w: worker %d", lease.ErrLost, c.Worker)
	}

	row.horizon = min(row.horizon, horizon)
	if now := p.clock(); now.Before(row.expires) {
		row.expires = now
	}
	p.leases[c.Worker] = row
	return nil
}

func (s *simSQL) List(context.Context, string) (entries []leasestore.Entry, err error) {
	for _, worker := range slices.Sorted(maps.Keys(s.leases)) {
		row := s.leases[worker]
		claim := leasestore.Claim{Worker: worker, Epoch: row.epoch}
		entries = append(entries, leasestore.Entry{Claim: claim, Horizon: row.horizon, Expires: row.expires})
	}
	return entries, nil
}

// move gives the namespace the layout, as sqllease does, and reports whether no lease was held.
func (s *simSQL) move(layout snowflake.Layout) bool {
	s.recordServer(s.ns.layout, 0)
	now := s.clock()
	start := max(s.w.tick(later(now, s.ns.floor()))+1, s.ns.start)
	for _, row := range s.leases {
		if now.Before(row.expires) {
			return false
		}
		if !s.isBroken("a move starts at now") {
			start = max(start, row.horizon)
		}
	}

	for worker, row := range s.leases {
		if !s.isBroken("a move ends no owner") {
			row.epoch, row.token = row.epoch+1, ""
		}
		row.horizon = start
		s.leases[worker] = row
	}
	s.ns.layout, s.ns.start, s.ns.generation = layout.String(), start, s.ns.generation+1
	return true
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
