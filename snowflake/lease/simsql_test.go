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
)

// simSQL is a server of a database with the rules of sqllease, for schedules with failovers, statement by
// statement: other events may happen between any two, and within one between the reading of the namespace and the change
// of a row. A statement that nobody waits for any more may do the latter much later. All of them end with the server.
type simSQL struct {
	w      *simWorld
	server *simServer
	ns     simNamespace
	rows   map[int64]simLease // by worker
}

type simNamespace struct {
	host          *simSQL
	changed       time.Time
	reach, before time.Duration // the greatest of all requests, and the one before that
	raised        time.Time     // when the one replaced the other
	layout        string
	share         int64 // the first worker that leases may have
}

type simLease struct {
	layout, token  string
	epoch, horizon int64
	expires        time.Time
}

func (n *simNamespace) floor() time.Time {
	if n.changed.IsZero() {
		return time.Time{}
	}
	return n.changed.Add(n.reach)
}

func newSimSQL(w *simWorld) *simSQL {
	return &simSQL{w: w, server: w.newServer(simOffset), rows: map[int64]simLease{}}
}

func (s *simSQL) clock() time.Time { return s.server.now() }

// clone returns a replica. It finds out that it is another server, unless that is broken.
func (s *simSQL) clone(server *simServer) *simSQL {
	replica := &simSQL{w: s.w, server: server, ns: s.ns, rows: maps.Clone(s.rows)}
	if s.w.kind.unaware {
		replica.ns.host = replica
	}
	return replica
}

func (s *simSQL) is(rule string) bool { return s.w.kind.breaks == rule }

// primary returns the server that executes the next statement: the connections find it.
func (s *simSQL) primary() *simSQL { return s.w.memory.(*simSQL) }

// change executes a statement whose condition is about the namespace: may is asked when it begins, with do after that. It
// reports whether it was executed.
func (s *simSQL) change(may func(p *simSQL) bool, do func(p *simSQL, ns simNamespace) bool) (bool, error) {
	p := s.primary()
	if !may(p) {
		return false, nil
	}
	ns, caller := p.ns, s.w.caller
	if !s.w.healing && s.w.choices.oneIn(10) {
		s.w.late = append(s.w.late, func() {
			if s.primary() == p {
				s.w.tally["late statements"]++
				s.w.note(nil, "a statement that began earlier changes a row: %v", do(p, ns))
				s.w.audit(caller)
			}
		})
		return false, errSimReply
	}
	s.w.interleave(8)
	if s.primary() != p {
		return false, errSimReply
	}
	return do(p, ns), nil
}

// enter lets the namespace meet the server and the reach.
func (s *simSQL) enter(layout string, reach time.Duration) {
	p := s.primary()
	if p.ns.layout == "" {
		p.ns.layout, p.ns.host, p.ns.reach = layout, p, reach
	}
	now := p.clock()
	if p.ns.host != p {
		p.ns.changed = later(p.ns.changed, later(now, p.ahead(now)))
	}
	if reach > p.ns.reach {
		p.ns.before, p.ns.raised = s.limit(p.ns, now), now
	}
	p.ns.host, p.ns.reach = p, max(p.ns.reach, reach)
}

// ahead returns the greatest horizon of a lease that is held, if it is beyond the reach, which shows that clocks were ahead.
func (s *simSQL) ahead(now time.Time) (greatest time.Time) {
	for _, row := range s.rows {
		layout, _ := snowflake.ParseLayout(row.layout)
		if horizon := layout.Start(row.horizon); now.Before(row.expires) && horizon.Before(now.Add(lease.MaxWindow)) {
			greatest = later(greatest, horizon)
		}
	}
	if !greatest.After(now.Add(s.ns.reach)) || s.is("a floor by the clock alone") {
		return time.Time{}
	}
	s.w.tally["horizons ahead"]++
	return greatest
}

// limit returns the reach that extensions may have: a greater one when every replica has it.
func (s *simSQL) limit(n simNamespace, now time.Time) time.Duration {
	if !n.raised.IsZero() && now.Before(n.raised.Add(s.w.plan.delay)) {
		return n.before
	}
	return n.reach
}

// seen is the condition that the namespace is as it was read, on the same server.
func seen(n simNamespace) func(p *simSQL) bool {
	return func(p *simSQL) bool { return p.ns == n && n.host == p }
}

func (s *simSQL) Acquire(_ context.Context, r lease.Request) (lease.Grant, error) {
	for range 20 {
		s.enter(r.Layout, r.Reach)
		p := s.primary()
		n, rows, now := p.ns, maps.Clone(p.rows), p.clock()
		s.w.interleave(20)
		share, caller := s.w.plan.share, s.w.caller
		switch {
		case !caller.sharing:
			r.First = max(r.First, share)
		case n.share != share && (!caller.opened || !s.is("share forgotten")): // it sets the share when it starts, and knows it then
			if p := s.primary(); seen(n)(p) {
				p.ns.share = share
			}
			continue
		}
		worker, ok := s.choose(r, n, rows, now)
		if !ok {
			return lease.Grant{}, &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: s.w.plan.window / 4}
		}
		if found, was := rows[worker]; was && found.token == r.Token {
			return s.grant(r, worker, found, n, now), nil
		}
		var taken simLease
		done, err := s.change(seen(n), func(p *simSQL, ns simNamespace) bool {
			row, now := p.rows[worker], p.clock() // by now
			if row.epoch != rows[worker].epoch || now.Before(row.expires) {
				return false
			}
			taken = simLease{layout: ns.layout, token: r.Token, epoch: row.epoch + 1, expires: p.expiry(now, r.TTL), horizon: row.horizon}
			p.rows[worker] = taken
			return true
		})
		if err != nil {
			return lease.Grant{}, err
		}
		if done {
			return s.grant(r, worker, taken, n, now), nil
		}
	}
	return lease.Grant{}, errSimReply
}

// choose returns the row of the token or any worker that is free.
func (s *simSQL) choose(r lease.Request, n simNamespace, rows map[int64]simLease, now time.Time) (int64, bool) {
	var free []int64
	for worker := max(r.First, n.share); worker <= r.Last; worker++ {
		row, was := rows[worker]
		held := now.Before(row.expires)
		if held && row.token == r.Token {
			return worker, true
		}
		if !was || !held && (!now.Before(n.floor()) || s.is("rows before the floor")) {
			free = append(free, worker)
		}
	}
	if len(free) == 0 {
		return 0, false
	}
	return pick(s.w.choices, free...), true
}

func (s *simSQL) grant(r lease.Request, worker int64, row simLease, n simNamespace, now time.Time) lease.Grant {
	if worker < s.w.plan.share {
		s.w.fail(s.w.caller, "worker %d is outside of the share", worker)
	}
	return lease.Grant{
		Claim:   lease.Claim{Namespace: r.Namespace, Worker: worker, Epoch: row.epoch, Token: r.Token},
		Horizon: row.horizon, Floor: n.floor(), Now: now, Forgets: !s.is("horizons follow the generator"),
	}
}

func (s *simSQL) expiry(now time.Time, ttl time.Duration) time.Time {
	expires := now.Add(ttl)
	if least := s.ns.changed.Add(lease.DefaultMaxSkew + time.Millisecond); !s.ns.changed.IsZero() && expires.Before(least) {
		return least
	}
	return expires
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (s *simSQL) owned(row simLease, c lease.Claim) bool {
	return row.epoch == c.Epoch && (row.token == c.Token || row.token == c.Next)
}

func (s *simSQL) Extend(_ context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	for range 10 {
		p := s.primary()
		n, row := p.ns, p.rows[c.Worker]
		if !s.owned(row, c) {
			return time.Time{}, fmt.Errorf("%w: worker %d", lease.ErrLost, c.Worker)
		}
		if n.host != p || n.reach < c.Reach {
			s.enter(n.layout, c.Reach)
			s.w.interleave(8)
			continue
		}
		if limit := s.limit(n, p.clock()); c.Reach > limit {
			return time.Time{}, &lease.ReachError{
				Namespace: c.Namespace, Reach: c.Reach, Limit: limit, Wait: n.raised.Add(s.w.plan.delay).Sub(p.clock()),
			}
		}
		known := n.changed.IsZero() || row.expires.After(n.changed.Add(lease.DefaultMaxSkew))
		if !known && !c.Unexpired() {
			return time.Time{}, fmt.Errorf("%w: worker %d after a failover", lease.ErrLost, c.Worker)
		}
		done, err := s.change(seen(n), func(p *simSQL, _ simNamespace) bool {
			row := p.rows[c.Worker]
			if !s.owned(row, c) {
				return false
			}
			row.horizon, row.token, row.expires = max(row.horizon, horizon), c.Next, p.expiry(p.clock(), ttl)
			p.rows[c.Worker] = row
			return true
		})
		if done || err != nil {
			return p.clock(), err
		}
	}
	return time.Time{}, errSimReply
}

func (s *simSQL) Release(_ context.Context, c lease.Claim, horizon int64) error {
	p := s.primary()
	row := p.rows[c.Worker]
	if row.epoch != c.Epoch || row.token != c.Token && row.token != cmp.Or(c.Next, c.Token) {
		return fmt.Errorf("%w: worker %d", lease.ErrLost, c.Worker)
	}
	row.horizon = min(row.horizon, horizon)
	if now := p.clock(); now.Before(row.expires) {
		row.expires = now
	}
	p.rows[c.Worker] = row
	return nil
}

func (s *simSQL) List(context.Context, string) (entries []lease.Entry, err error) {
	for _, worker := range slices.Sorted(maps.Keys(s.rows)) {
		row := s.rows[worker]
		claim := lease.Claim{Worker: worker, Epoch: row.epoch}
		entries = append(entries, lease.Entry{Claim: claim, Horizon: row.horizon, Expires: row.expires})
	}
	return entries, nil
}
