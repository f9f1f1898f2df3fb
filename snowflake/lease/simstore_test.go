package lease_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// simPort is the store as a process reaches it, through a network.
type simPort struct{ p *simProcess }

var (
	errSimDropped = errors.New("the request was lost")
	errSimReply   = errors.New("the reply was lost")
	errSimDead    = errors.New("the process is dead")
)

// simFault is what happens to a call.
type simFault int

const (
	simNoFault simFault = iota
	simDropRequest
	simLoseReply
	simLateRequest
)

// call makes a call of the store. A late request is executed after the caller has given up.
func (s simPort) call(name string, do func() error) error {
	p, w := s.p, s.p.w
	w.interleave(10)
	if p.dead {
		return errSimDead
	}

	fault := p.nextFault()
	if w.now.Before(w.down) || p.cutOff {
		fault = simDropRequest
	}
	if p.cutOff && w.choices.oneIn(2) {
		fault = simLateRequest
	}

	request := func() error {
		caller := w.caller
		w.caller = p
		err := do()
		w.caller = caller
		w.audit(p)
		return err
	}

	switch fault {
	case simDropRequest:
		w.tally["dropped"]++
		w.note(p, "%s: the request is lost", name)
		return errSimDropped
	case simLateRequest:
		w.note(p, "%s: the request is late", name)
		w.late = append(w.late, func() {
			w.tally["late"]++
			w.note(p, "%s arrives late: %v", name, request())
		})
		return errSimDropped
	}

	err := request()
	w.note(p, "%s: %v", name, err)
	w.interleave(10)
	switch {
	case p.dead:
		return errSimDead
	case fault == simLoseReply:
		w.tally["lost "+name+" replies"]++
		w.note(p, "%s: the reply is lost", name)
		return errSimReply
	}
	return err
}

func (s simPort) Acquire(ctx context.Context, r leasestore.Request) (grant leasestore.Grant, err error) {
	ctx = context.WithoutCancel(ctx) // its deadline is in real time
	err = s.call("acquire", func() error {
		grant, err = s.p.w.store.Acquire(ctx, r)
		if err == nil {
			s.p.w.granted(s.p, grant.Claim)
		}
		return err
	})
	if err != nil {
		return leasestore.Grant{}, err
	}

	s.p.expires = s.p.host.wall.Add(r.TTL)
	s.p.w.startsAbove(s.p, grant)
	grant.Now = s.reported(grant.Now)
	return grant, nil
}

func (s simPort) Extend(ctx context.Context, c leasestore.Claim, h int64, ttl time.Duration) (now time.Time, err error) {
	ctx = context.WithoutCancel(ctx)
	wall, elapsed := lease.Left(c)
	err = s.call("extend", func() error {
		s.p.w.note(s.p, "extends worker %d, epoch %d to %d", c.Worker, c.Epoch, h)
		if s.p.w.kind.late {
			c = lease.Lasting(c, wall, elapsed)
		}
		now, err = s.p.w.store.Extend(ctx, c, h, ttl)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}

	s.p.expires = s.p.host.wall.Add(ttl)
	return s.reported(now), nil
}

func (s simPort) Release(ctx context.Context, c leasestore.Claim, h int64) error {
	ctx = context.WithoutCancel(ctx)
	return s.call("release", func() error {
		s.p.w.note(s.p, "releases worker %d, epoch %d down to %d", c.Worker, c.Epoch, h)
		return s.p.w.store.Release(ctx, c, h)
	})
}

func (s simPort) List(ctx context.Context, namespace string) ([]leasestore.Entry, error) {
	return s.p.w.store.List(ctx, namespace)
}

func (s simPort) reported(now time.Time) time.Time {
	if s.p.w.plan.blind {
		return time.Time{}
	}
	return now
}

// simLedger records what the store has committed and what was issued.
type simLedger struct {
	rows   map[int64]simRow
	grants map[int64][]*simGrant // by worker, in the order of their epochs
	issued map[snowflake.ID]simIssue
	copied map[int64]int64 // by worker, the horizon below which its copies may repeat IDs
}

// simIssue says who has issued an ID, and whether the process knew when it began the call that it had lost the worker.
type simIssue struct {
	by   string
	lost bool
}

type simRow struct{ epoch, horizon int64 }

// simGrant is a worker under one epoch: its owner may issue the ticks in [from, below), and once it has given a part of
// them back only those below end.
type simGrant struct {
	owner       *simProcess
	token       string // of the acquisition
	epoch       int64
	from, below int64
	used        int64 // the horizon that the owner has, which is less than that below if clocks were set back
	end         int64 // none: math.MaxInt64
	highest     int64 // tick issued; none: -1
}

func newSimLedger() simLedger {
	return simLedger{
		rows: map[int64]simRow{}, grants: map[int64][]*simGrant{}, issued: map[snowflake.ID]simIssue{},
		copied: map[int64]int64{},
	}
}

// granted records that the store has lent a worker to a process.
func (w *simWorld) granted(p *simProcess, c leasestore.Claim) {
	delete(p.lost, c.Worker)
	l := &w.ledger
	grants := l.grants[c.Worker]
	if n := len(grants); n > 0 {
		last := grants[n-1]
		if last.owner == p && last.token == c.Token && last.epoch == c.Epoch {
			return // a repeated call, since the reply was lost
		}
		if !last.owner.closed {
			w.tally["takeovers"]++
		}
	}

	l.grants[c.Worker] = append(grants, &simGrant{
		owner: p, token: c.Token, epoch: c.Epoch, from: l.rows[c.Worker].horizon, end: math.MaxInt64, highest: -1,
	})
	w.tally["acquired"]++
	w.note(p, "is granted worker %d, epoch %d, from tick %d", c.Worker, c.Epoch, l.rows[c.Worker].horizon)
}

// startsAbove records where a process starts with a grant that it has received.
func (w *simWorld) startsAbove(p *simProcess, grant leasestore.Grant) {
	if g := w.grantOf(p, grant.Worker, grant.Epoch); g != nil && g.owner == p {
		g.from = max(g.from, grant.Horizon)
		if !grant.Floor.IsZero() {
			g.from = max(g.from, w.tick(grant.Floor)+1)
		}
	}
}

// audit checks what the store has committed after a call of p.
func (w *simWorld) audit(p *simProcess) {
	if w.kind.unique {
		return
	}
	l := &w.ledger

	entries, err := w.store.List(context.Background(), "")
	if err != nil {
		w.fail(nil, "List: %v", err)
	}
	for _, e := range entries {
		row, was := simRow{e.Epoch, e.Horizon}, l.rows[e.Worker]
		if row == was {
			continue
		}

		if row.horizon < was.horizon {
			w.lowered(p, e.Worker, row, was)
		}
		if row.epoch < was.epoch {
			w.fail(nil, "the epoch of worker %d fell from %d to %d", e.Worker, was.epoch, row.epoch)
		}
		if row.epoch != was.epoch && row.horizon != was.horizon && !w.kind.forgets {
			w.fail(nil, "a takeover of worker %d changed the horizon from %d to %d", e.Worker, was.horizon, row.horizon)
		}
		l.rows[e.Worker] = row
		if row.horizon > was.horizon {
			w.committed(p, e.Worker, row)
		}
	}
}

// committed records a horizon that a call of p has raised.
func (w *simWorld) committed(p *simProcess, worker int64, row simRow) {
	if g := w.grantOf(p, worker, row.epoch); g != nil {
		g.below = max(g.below, row.horizon)
	}
}

// lowered records a horizon that a call of p has lowered. It must be the owner's release of what it has not issued and
// will not issue.
func (w *simWorld) lowered(p *simProcess, worker int64, row, was simRow) {
	w.tally["lowered"]++
	g := w.grantOf(p, worker, row.epoch)
	if g == nil || g.owner != p || row.horizon < g.from || row.horizon <= g.highest {
		w.fail(p, "the horizon of worker %d fell from %d to %d under epoch %d: %+v",
			worker, was.horizon, row.horizon, row.epoch, g)
		return
	}
	g.end = min(g.end, row.horizon)
}

// grantOf returns the grant of an epoch, that of p if a store that forgets has lent it to several owners.
func (w *simWorld) grantOf(p *simProcess, worker, epoch int64) (grant *simGrant) {
	for _, g := range w.ledger.grants[worker] {
		if g.epoch == epoch && (grant == nil || grant.owner != p || g.owner == p) {
			grant = g
		}
	}
	return grant
}

// forget makes the ledger's rows those of a backup, which may not know a move.
func (w *simWorld) forget() {
	clear(w.ledger.rows)
	if w.storedLayout() != w.layout.String() {
		w.moved = 0
	}
	w.audit(nil)
}

// issue records the IDs that a call of p has returned. No call that had returned when it began got an ID beyond the
// position low, and the workers in lost were known to be lost, by their epoch.
//
// Copies of a process may repeat an ID if its tick lies below the horizon that was committed or requested when the copy
// was made, as long as none of them knows that it has lost the worker.
func (w *simWorld) issue(p *simProcess, ids []snowflake.ID, low int64, lost map[int64]int64) {
	layout := p.layout
	for _, id := range ids {
		tick, sequence := field(layout, id, snowflake.FieldTime), field(layout, id, snowflake.FieldSequence)
		worker := field(layout, id, layout.WorkerField())
		known := lost[worker] > 0 && p.lost[worker] == lost[worker] // and the call has not got the worker back
		if known {
			w.fail(p, "ID of worker %d, tick %d, after it was lost", worker, tick)
		}

		issue := simIssue{p.name, known}
		if before, ok := w.ledger.issued[id]; ok {
			if tick >= w.ledger.copied[worker] || before.lost || issue.lost {
				w.violate(p, "ID %d (worker %d, tick %d, sequence %d) was issued by %+v, copies share it below %d",
					id, worker, tick, sequence, before, w.ledger.copied[worker])
				return
			}
			w.tally["repeats"]++
		}
		w.checkLayout(p, tick)
		w.ledger.issued[id] = issue
		w.tally["IDs"]++

		if limit := p.latest(); w.kind.forgets && w.plan.clocks != simDrifts && tick > limit {
			w.fail(p, "issued tick %d, which no clock of a server confirms: at most %d", tick, limit)
		}
		at := tick<<sequenceBits + sequence
		sameTick := low >= 0 && tick == low>>sequenceBits
		if mayRise := sameTick && sortsBySequence(layout); at <= low && !mayRise {
			w.fail(p, "ID of tick %d, sequence %d after one of tick %d, sequence %d",
				tick, sequence, low>>sequenceBits, low&(1<<sequenceBits-1))
		}
		low = max(low, at)
		w.checkGrant(p, worker, tick)
	}
	p.highest = max(p.highest, low)
}

// sortsBySequence reports whether a tick may begin at any sequence, and goes on at 0 after the highest.
func sortsBySequence(l snowflake.Layout) bool {
	for _, field := range l.Fields() {
		switch field.Name {
		case snowflake.FieldSequence:
			return true
		case snowflake.FieldTime:
			return false
		}
	}
	return false
}

// latest returns the last tick that an ID may have: a generator follows no clock which is further ahead of all servers
// than the accepted skew. Only until the store has told a process the time, it follows any: that may be set right before
// the process opens.
func (p *simProcess) latest() int64 {
	w := p.w
	skew := cmp.Or(w.plan.skew, lease.DefaultMaxSkew)
	return w.tick(w.now.Add(max(w.ahead+skew, p.ahead))) + w.ticks(w.plan.lead) + 1
}

// sequenceBits is more than the sequences of the simulated layouts have.
const sequenceBits = 16

// checkGrant searches the claim under which p may issue the tick.
func (w *simWorld) checkGrant(p *simProcess, worker, tick int64) {
	grants := w.ledger.grants[worker]
	if n := len(grants); n > 0 && grants[n-1].owner != p {
		w.tally["IDs after a takeover"]++
	}
	if w.kind.unique {
		return
	}

	for _, g := range grants {
		copied := p.copied || g.owner.copied
		if g.owner != p && !copied && g.mayIssue(tick) {
			w.violate(p, "issued tick %d of worker %d, which %s may issue, too: [%d, %d) under epoch %d",
				tick, worker, g.owner.name, g.from, min(g.below, g.end), g.epoch)
		}
	}
	for _, g := range grants {
		if g.owner == p && g.has(tick) {
			g.highest = max(g.highest, tick)
			return
		}
	}
	if p.copied && tick < w.ledger.copied[worker] {
		return // the other copy may have given it back
	}

	var seen strings.Builder
	for _, g := range grants {
		if g.owner == p {
			fmt.Fprintf(&seen, " [%d, %d) under epoch %d", g.from, min(g.below, g.end), g.epoch)
		}
	}
	w.fail(p, "issued tick %d of worker %d, was granted%s", tick, worker, &seen)
}

// has reports whether the tick was granted, and not given back.
func (g *simGrant) has(tick int64) bool { return g.from <= tick && tick < min(g.below, g.end) }

// mayIssue reports whether the owner may issue the tick. It uses less than it was granted if clocks were set back.
func (g *simGrant) mayIssue(tick int64) bool {
	clocks := g.owner.w.plan.clocks
	setBack := clocks == simSteps || clocks == simDrifts
	return g.has(tick) && (!setBack || tick < g.used)
}

func field(l snowflake.Layout, id snowflake.ID, name string) int64 {
	value, err := l.Field(id, name)
	if err != nil {
		panic(err)
	}
	return value
}
