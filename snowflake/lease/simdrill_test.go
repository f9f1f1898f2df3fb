package lease_test

import (
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// simDrill begins a schedule with what random events hardly ever do in this order. Its details are chosen, such as
// clocks, windows and how much time passes. Other events may interrupt it, and follow it.
//
// In a directed schedule each choice is the first one, and nothing else happens: so the first choice of a drill is the
// one that finds the rule broken which the drill is for.
type simDrill struct {
	name   string
	sql    bool // on the store that fails over
	copies bool // of processes are made
	plan   func(*simPlan, *simChoices)
	do     func(*simWorld)
}

func (d simDrill) kind() simKind { return simKind{drill: &d, forgets: d.sql, copies: d.copies} }

// simDrills are all drills.
var simDrills = []simDrill{
	simStaleExtends, simStaleReleases, simUncommitted, simSetBackCloses, simSetBackExpires, simSetBackCrashes,
	simRestarts, simClosesInACall, simCloned,
	simForgotten, simForgottenShare, simExpiredCutOff, simExpiredInACall, simExpiredAsleep, simExpiredAsleepInACall,
	simExpiredSetBack, simExpiredSetBackInACall, simTwoFailovers, simAheadLong, simAheadShortly, simStepsForward,
	simMoved, simMovedAhead,
}

// An owner does not hear of the store until another process has its worker.

var (
	simStaleExtends = simDrill{name: "a stale owner extends", do: func(w *simWorld) {
		w.drillStale((*simProcess).step)
	}}
	simStaleReleases = simDrill{name: "a stale owner releases", do: func(w *simWorld) {
		w.drillStale((*simProcess).close)
	}}
	simUncommitted = simDrill{name: "an owner whose lease may be over", do: func(w *simWorld) {
		owner := w.begin(0)
		w.passTo(2*w.plan.window + w.plan.window/8)
		w.issueBelow(w.horizonOf(owner), owner, w.begin(1))
	}}
)

func (w *simWorld) drillStale(comes func(*simProcess)) {
	owner := w.begin(0)
	w.extendAll(w.choices.below(3))
	w.cutOff(owner)
	w.passTo(2*owner.window + owner.window/8)
	next := w.begin(1)

	w.phase()
	owner.cutOff = false
	if owner.running() {
		comes(owner)
	}
	third := w.begin(2)
	w.issueBelow(w.horizonOf(next), owner, next, third)
}

// The clock of an owner was ahead when it started, which its generator still is.

var (
	simSetBackCloses = simDrill{name: "closed after a step back", do: func(w *simWorld) {
		w.drillSetBack((*simProcess).close)
	}}
	simSetBackCrashes = simDrill{name: "crashed while its clock was ahead", do: func(w *simWorld) {
		w.drillSetBack(func(owner *simProcess) {
			owner.crash()
			w.passTo(2*owner.window + owner.window/8)
		})
	}, plan: func(plan *simPlan, c *simChoices) { plan.window = pick(c, time.Second, 2*time.Second) }}
	simSetBackExpires = simDrill{name: "cut off after a step back", do: func(w *simWorld) {
		w.drillSetBack(func(owner *simProcess) {
			owner.step()
			w.cutOff(owner)
			w.passTo(owner.window*2 - owner.window/32*time.Duration(1+w.choices.below(8)))
			if owner.running() {
				owner.call()
			}
			w.passTo(owner.window / 2)
		})
	}}
)

func (w *simWorld) drillSetBack(end func(*simProcess)) {
	w.phase()
	ahead := pick(w.choices, 9*time.Second, 7*time.Second, 5*time.Second)
	w.hosts[0].wall = w.hosts[0].wall.Add(ahead)
	owner := w.begin(0)
	w.extendAll(w.choices.below(3))
	w.phase()
	if pick(w.choices, true, false) {
		w.note(nil, "the clock of host 0 is set right")
		w.setRight(w.hosts[0])
	}
	if !owner.running() {
		return
	}

	owner.call()
	end(owner)
	w.issueAt(owner.highest>>sequenceBits, w.begin(1))
}

// A process ends, and another one starts on the same host at the same moment.

var (
	simRestarts = simDrill{name: "a restart at once", do: func(w *simWorld) {
		owner := w.begin(0)
		w.extendAll(w.choices.below(3))
		w.phase()
		if owner.running() {
			owner.call()
			owner.close()
		}
		w.restart()
	}}
	simClosesInACall = simDrill{name: "a call while the worker is given back", do: func(w *simWorld) {
		owner := w.begin(0)
		w.extendAll(w.choices.below(3))
		w.phase()
		if !owner.running() {
			return
		}

		owner.call()
		later := w.plan.layout.Tick() * time.Duration(1+w.choices.below(3))
		w.meanwhile = []func(){nil, func() {
			w.advance(later)
			if owner.running() || owner.ending && !owner.dead {
				owner.call()
			}
		}}
		owner.close()
		w.meanwhile = nil
		w.restart()
	}}
)

func (w *simWorld) restart() {
	next := w.start(w.hosts[0], w.plan.window)
	w.slots[1] = next
	w.open(next)
	if next.running() {
		next.call()
	}
}

// The host of a process is cloned.

var simCloned = simDrill{name: "a copy", copies: true, do: func(w *simWorld) {
	owner := w.begin(0)
	w.extendAll(w.choices.below(3))
	w.phase()
	if !owner.running() {
		return
	}

	owner.call()
	host := *owner.host
	w.hosts = append(w.hosts, &host)
	twin := w.copyOf(owner, &host)
	w.slots[1] = twin
	w.advance(owner.window / 8 * time.Duration(w.choices.below(4)))
	owner.step()
	twin.step()
	w.issueAt(w.tickOf(owner)+w.ticks(w.plan.window/16), owner, twin)
	w.issueAt(w.horizonOf(owner)+w.ticks(w.plan.window/8), owner, twin)
}}

// What drills are made of.

// phase ends an event of the drill and begins the next one.
func (w *simWorld) phase() { w.choices.begin() }

// begin starts a process in a slot, which may or may not get a worker.
func (w *simWorld) begin(i int) *simProcess { return w.beginWith(i, w.plan.window) }

func (w *simWorld) beginWith(i int, window time.Duration) *simProcess {
	w.phase()
	if p := w.slots[i]; p != nil {
		return p // another event has started it
	}
	p := w.start(w.hosts[i], window)
	w.slots[i] = p
	w.open(p)
	return p
}

// open makes a few steps of a process that starts.
func (w *simWorld) open(p *simProcess) {
	for range 3 {
		if !p.opened && !p.dead {
			p.step()
		}
	}
}

// uninterrupted does something that no other event interrupts.
func (w *simWorld) uninterrupted(do func()) {
	w.depth += simDeepest
	do()
	w.depth -= simDeepest
}

// cutReplica makes a replica get nothing more.
func (w *simWorld) cutReplica() {
	w.phase()
	if w.backup == nil {
		w.eventFailover()
	}
}

// promote lets a replica take the place of the server.
func (w *simWorld) promote() {
	w.cutReplica()
	w.eventFailover()
}

func (w *simWorld) cutOff(p *simProcess) {
	w.note(p, "is cut off")
	p.cutOff = true
}

// running reports whether the process has a worker, as far as it knows, or looks for another one.
func (p *simProcess) running() bool {
	hasStopped := p.paused || p.ending || p.dead || p.failed
	return p.opened && !hasStopped && p.w.violation == ""
}

func (w *simWorld) horizonOf(p *simProcess) int64 { return p.lease.State().Horizon }

func (w *simWorld) tickOf(p *simProcess) int64 {
	tick, _ := p.lease.Lessee().Tick()
	return tick
}

// extendAll lets half a window pass so many times. All owners extend after each one.
func (w *simWorld) extendAll(times int) {
	for range times {
		w.phase()
		w.advance(w.plan.window / 2)
		for _, p := range w.slots {
			if p != nil && p.running() {
				p.step()
			}
		}
	}
}

// passTo lets time pass, in which processes make the steps that are due.
func (w *simWorld) passTo(d time.Duration) {
	piece := w.plan.window / 4
	for ; d > 0 && w.violation == ""; d -= piece {
		w.phase()
		w.advance(min(piece, d))
		w.runDue()
	}
}

// issueBelow lets processes issue IDs of the same two ticks below a horizon: any, and the last one.
func (w *simWorld) issueBelow(horizon int64, ps ...*simProcess) {
	w.phase()
	if now := w.tickOf(ps[0]); horizon > now {
		w.issueAt(now+int64(w.choices.span(1, time.Duration(horizon-now))), ps...)
	}
	w.issueAt(horizon-1, ps...)
}

// issueAt lets processes issue IDs of one tick, each when its clock shows it.
func (w *simWorld) issueAt(tick int64, ps ...*simProcess) {
	ps = slices.Clone(ps)
	for range 200 {
		w.phase()
		ps = slices.DeleteFunc(ps, func(p *simProcess) bool {
			if w.tickOf(p) < tick {
				return p.dead || p.failed || w.violation != ""
			}
			if p.running() {
				p.call()
			}
			return true
		})
		if len(ps) == 0 {
			return
		}

		left := w.plan.window / 4
		for _, p := range ps {
			if ahead := time.Duration(tick-w.tickOf(p)) * w.plan.layout.Tick(); ahead > 0 {
				left = min(left, ahead)
			}
		}
		w.advance(left)
		w.runDue()
	}
}

// An operator moves a namespace to another layout when its lease has expired. The owner comes back, and a replica is
// promoted that may not know the move.

var (
	simMoved = simDrill{name: "a move", sql: true, plan: planMoved, do: func(w *simWorld) {
		owner := w.begin(0)
		w.extendAll(w.choices.below(3))
		w.cutReplica()
		w.cutOff(owner)
		w.passTo(2*owner.window + owner.window/8)
		w.move()
		next := w.begin(1)

		w.phase()
		owner.cutOff = false
		for range 2 {
			if owner.running() {
				owner.step()
			}
		}
		w.passTo(owner.window)
		w.open(next)
		w.issueBelow(w.tickOf(owner)+w.ticks(owner.window/2), owner, next)

		if w.choices.oneIn(4) {
			return
		}
		w.promote()
		w.passTo(owner.window * 2)
		if owner.running() && w.choices.oneIn(2) {
			owner.crash() // or it holds a worker, and the namespace can't move
		}
		w.passTo(owner.window * 3)
		w.move()
		w.issueBelow(w.tickOf(next)+w.ticks(owner.window), owner, next, w.begin(2))
	}}
	simMovedAhead = simDrill{name: "a move below a horizon", sql: true, plan: func(plan *simPlan, c *simChoices) {
		planMoved(plan, c)
		plan.skew = lease.DefaultMaxSkew // or the store refuses a clock that is ahead
	}, do: func(w *simWorld) {
		w.drillSetBack(func(owner *simProcess) {
			owner.crash()
			w.passTo(2*owner.window + owner.window/8)
			w.move()
		})
	}}
)

func planMoved(plan *simPlan, c *simChoices) {
	plan.window = pick(c, time.Second, 2*time.Second)
	plan.other = plan.window
}

// layoutAfter returns a layout with other names. Its IDs are the same numbers, so one that is issued in both layouts is
// found.
func layoutAfter(l snowflake.Layout) snowflake.Layout {
	from, to := " worker:", " machine:"
	if l.WorkerField() == "machine" {
		from, to = to, from
	}
	after, _ := snowflake.ParseLayout(strings.Replace(l.String(), from, to, 1)) // only the name differs
	return after
}

func (w *simWorld) storedLayout() string {
	if s, ok := w.memory.(*simSQL); ok {
		return s.ns.layout
	}
	return w.layout.String()
}

// move is what an operator does: to a layout that is new, or once more if a replica did not know the move.
func (w *simWorld) move() {
	w.phase()
	s := w.memory.(*simSQL)

	to := w.layout
	if s.ns.layout == to.String() {
		to = layoutAfter(to)
	}
	if s.ns.layout == "" || !s.move(to) {
		w.tally["moves refused"]++
		return
	}

	w.tally["moves"]++
	w.note(nil, "the namespace moves to %v from tick %d on", to, s.ns.start)
	if to != w.layout {
		w.layout, w.moves, w.begins = to, w.moves+1, s.ns.start
	}
	w.moved = s.ns.start
	w.audit(nil)
}

// checkLayout checks that the layouts of processes do not overlap in time.
func (w *simWorld) checkLayout(p *simProcess, tick int64) {
	switch {
	case p.layout != w.layout && w.moved > 0 && tick >= w.moved:
		w.fail(p, "issued tick %d of the layout before, the one after begins at %d", tick, w.moved)
	case p.moves == w.moves && tick < w.begins:
		w.fail(p, "issued tick %d, its layout begins at %d", tick, w.begins)
	}
}

// moveAgain ends the processes with another layout than those that start, and moves the namespace if it has another
// one.
func (w *simWorld) moveAgain() {
	for _, p := range w.slots {
		if p != nil && !p.dead && p.layout != w.layout {
			p.crash()
		}
	}

	for range 1000 { // until what is held has expired by the server's clock
		if stored := w.storedLayout(); stored == "" || stored == w.layout.String() {
			break
		}
		w.advance(w.plan.window)
		w.move()
	}
	w.skipAhead()
}
