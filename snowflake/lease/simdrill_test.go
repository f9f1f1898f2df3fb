package lease_test

import (
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// simDrill begins a schedule with what random events hardly ever do in this order. Its details are chosen, such as clocks,
// windows and how much time passes. Other events may interrupt it, and follow it.
//
// In a directed schedule each choice is the first one, and nothing else happens: so the first choice of a drill is the one
// that finds the rule broken which the drill is for.
type simDrill struct {
	name string
	sql  bool // on the store that fails over
	plan func(*simPlan, *simChoices)
	do   func(*simWorld)
}

// simDrills are all drills.
var simDrills = []simDrill{
	simStaleExtends, simStaleReleases, simUncommitted, simSetBackCloses, simSetBackExpires, simSetBackCrashes,
	simRestarts, simClosesInACall, simCloned,
	simForgotten, simForgottenShare, simExpiredCutOff, simExpiredInACall, simExpiredAsleep, simExpiredAsleepInACall,
	simExpiredSetBack, simExpiredSetBackInACall, simTwoFailovers, simAheadLong, simAheadShortly, simStepsForward,
}

// planDrill changes the plan of a random schedule.
func (plan *simPlan) planDrill(drill *simDrill, c *simChoices) {
	plan.workers, plan.hosts, plan.slots = 1, 4, 4
	plan.events, plan.stopOnLoss, plan.blind, plan.wild, plan.clocks = c.below(40), false, false, false, ""
	plan.window = pick(c, time.Second, 2*time.Second, 10*time.Second)
	plan.other, plan.share = plan.window, 0
	plan.lead = pick(c, 10*time.Millisecond, 0, time.Second)
	if drill.sql {
		plan.skew = pick(c, lease.DefaultMaxSkew, time.Second, time.Millisecond)
	}
	if drill.plan != nil {
		drill.plan(plan, c)
	}
}

// An owner does not hear of the store until another process has its worker.

var (
	simStaleExtends  = simDrill{name: "a stale owner extends", do: func(w *simWorld) { w.drillStale((*simProcess).step) }}
	simStaleReleases = simDrill{name: "a stale owner releases", do: func(w *simWorld) { w.drillStale((*simProcess).close) }}
	simUncommitted   = simDrill{name: "an owner whose lease may be over", do: func(w *simWorld) {
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
	simSetBackCloses  = simDrill{name: "closed after a step back", do: func(w *simWorld) { w.drillSetBack((*simProcess).close) }}
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

var simCloned = simDrill{name: "a copy", do: func(w *simWorld) {
	owner := w.begin(0)
	w.extendAll(w.choices.below(3))
	w.phase()
	if !w.kind.copies || !owner.running() {
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

// A replica that is promoted does not know an owner, which goes on up to its horizon.

var (
	simForgotten = simDrill{name: "an owner is forgotten", sql: true, plan: planForgotten, do: func(w *simWorld) {
		w.begin(0) // the replica knows the namespace
		w.cutReplica()
		owner := w.beginWith(1, pick(w.choices, w.plan.other, w.plan.window))
		w.extendAll(w.choices.below(3))
		w.phase()
		if owner.running() {
			owner.step() // so its horizon is as far ahead as it can be
		}
		owner.cutOff = true
		w.advance(pick(w.choices, 0, 0, owner.window/8))
		w.promote()
		w.issueBelow(w.horizonOf(owner), owner, w.begin(2))
	}}
	simForgottenShare = simDrill{name: "a share is forgotten", sql: true, plan: func(plan *simPlan, c *simChoices) {
		plan.workers, plan.share = 3, 1
	}, do: func(w *simWorld) {
		w.begin(0)
		w.cutReplica()
		second, third := w.begin(1), w.begin(2) // the third one sets the share
		w.phase()
		second.crash()
		w.passTo(2*w.plan.window + w.plan.window/4)
		w.open(third)
		w.promote()
		w.passTo(w.plan.window * 2)
		w.issueAt(w.tickOf(third), third)
	}}
)

func planForgotten(plan *simPlan, c *simChoices) {
	plan.workers = 2
	plan.other = pick(c, 16*time.Second, plan.window, 30*time.Second)
	plan.delay = pick(c, time.Hour, 64*time.Second)
	plan.lead = pick(c, time.Second, 10*time.Millisecond, 5*time.Second, 100*time.Millisecond)
}

// An owner's lease has expired, and another process has its worker, which a replica that is promoted does not know. The
// owner then asks the replica, or has asked it before.

var (
	simExpiredCutOff = simDrill{name: "expired while cut off", sql: true, do: func(w *simWorld) {
		w.drillExpired(false, w.cutOffFor, func(*simProcess) {})
	}}
	simExpiredInACall = simDrill{name: "expired in a call", sql: true, do: func(w *simWorld) {
		w.drillExpired(true, w.cutOffFor, func(*simProcess) {})
	}}
	simExpiredAsleep = simDrill{name: "expired asleep", sql: true, do: func(w *simWorld) {
		w.drillExpired(false, w.sleepFor, func(*simProcess) {})
	}}
	simExpiredAsleepInACall = simDrill{name: "expired asleep in a call", sql: true, do: func(w *simWorld) {
		w.drillExpired(true, w.sleepFor, func(*simProcess) {})
	}}
	simExpiredSetBack = simDrill{name: "expired by the monotonic clock", sql: true, do: func(w *simWorld) {
		w.drillExpired(false, w.cutOffFor, func(owner *simProcess) { owner.setBack(4 * owner.window) })
	}}
	simExpiredSetBackInACall = simDrill{name: "expired by the monotonic clock in a call", sql: true, do: func(w *simWorld) {
		w.drillExpired(true, w.cutOffFor, func(owner *simProcess) { owner.setBack(4 * owner.window) })
	}}
)

func (w *simWorld) cutOffFor(owner *simProcess, d time.Duration) {
	w.cutOff(owner)
	w.passTo(d)
}

func (w *simWorld) sleepFor(owner *simProcess, d time.Duration) {
	w.note(owner, "its host sleeps for %v", d)
	w.tally["suspends"]++
	w.suspend(owner.host, d)
	w.cutOff(owner)
}

func (p *simProcess) setBack(d time.Duration) {
	p.w.note(p, "its wall clock is set back by %v", d)
	p.host.wall = p.host.wall.Add(-d)
}

func (w *simWorld) drillExpired(called bool, absent func(*simProcess, time.Duration), clocks func(*simProcess)) {
	owner := w.begin(0)
	w.extendAll(w.choices.below(3))
	w.cutReplica()
	if w.choices.oneIn(4) {
		owner.step()
	}
	if called {
		w.advance(owner.window / 2)
		owner.fault, owner.faults = simLateRequest, 1
		owner.step()
	}
	expires := 2*owner.window + owner.window/32
	absent(owner, expires)
	next := w.begin(1)

	w.cutOff(next)
	w.promote()
	clocks(owner)
	owner.cutOff = false
	for len(w.late) > 0 {
		w.eventLate()
	}
	for range 2 {
		if owner.running() {
			owner.step()
		}
	}
	w.issueBelow(w.horizonOf(next), owner, next)
}

// The lease of an owner lasts longer on the server that has died than its replica knows. The replica is replaced, too,
// before the owner asks it, by another one, which does not know whom it has given the worker to.

var simTwoFailovers = simDrill{name: "two failovers", sql: true, plan: func(plan *simPlan, _ *simChoices) {
	plan.skew, plan.right = plan.window, true // an owner counts on 7/4 of the window
}, do: func(w *simWorld) {
	window := w.plan.window
	owner := w.begin(0)
	w.cutReplica()
	w.advance(window / 2)
	owner.step()
	w.advance(window / 10)
	w.promote()
	w.cutOff(owner)
	next := w.begin(1)
	w.cutReplica() // of the server that was promoted

	w.advance(window*3/2 + window/32*time.Duration(w.choices.below(4)))
	w.open(next) // the row has expired, the lease of its owner has not
	w.cutOff(next)
	owner.cutOff = false
	w.promote()
	for range 2 {
		if owner.running() {
			owner.step()
		}
	}
	w.issueBelow(w.horizonOf(next), owner, next)
}}

// All clocks were ahead, and are set right.

var (
	simAheadLong = simDrill{name: "generators that stay ahead", sql: true, plan: planAhead, do: func(w *simWorld) {
		first, _ := w.beginAhead(1)
		for !w.agree(w.newServer(-simOffset).now) && w.violation == "" {
			w.advance(w.plan.window)
			w.extendAll(1)
		}
		w.cutReplica()
		w.cutOff(first)
		w.passTo(2*first.window + first.window/8)
		w.begin(1) // so the first one takes another worker
		first.cutOff = false
		w.passTo(first.window)
		w.promoteBeside(first)
	}}
	simAheadShortly = simDrill{name: "horizons that stay ahead", sql: true, plan: func(plan *simPlan, c *simChoices) {
		planAhead(plan, c)
		plan.right = true // but for that
	}, do: func(w *simWorld) {
		first, ahead := w.beginAhead(w.choices.below(2))
		w.cutReplica()
		forgotten := w.begin(1)
		w.extendAll(2 - w.choices.below(2))
		w.phase()
		if w.backup == nil {
			return
		}

		// The failover is not put off if the row of the first owner, which the replica has, shows how far ahead clocks were.
		row := w.backup.(*simSQL).leases[first.lease.State().Claim.Worker]
		fresh := row.horizon >= w.tick(w.cut.Add(ahead+w.plan.window))
		w.agree(w.server.now)
		w.soon = fresh && w.slots[2] == nil && w.now.Sub(w.cut) <= w.plan.window
		w.promoteBeside(forgotten)
	}}
)

func planAhead(plan *simPlan, c *simChoices) {
	plan.workers, plan.clocks = 2, simSteps
	plan.window = pick(c, 10*time.Second, 5*time.Second)
	plan.other = plan.window
}

// beginAhead starts a process when the clocks of the server and of all hosts are ahead.
func (w *simWorld) beginAhead(extensions int) (first *simProcess, ahead time.Duration) {
	w.phase()
	ahead = pick(w.choices, 30*time.Second, 40*time.Second, time.Minute)
	w.note(nil, "all clocks are ahead by %v", ahead)
	w.memory.(*simSQL).server.step(ahead)
	for _, h := range w.hosts {
		h.wall = h.wall.Add(ahead)
	}
	first = w.begin(0)
	w.extendAll(extensions)
	return first, ahead
}

// promoteBeside promotes the replica, while the owner goes on up to its horizon.
func (w *simWorld) promoteBeside(owner *simProcess) {
	owner.cutOff = true
	var next *simProcess
	w.uninterrupted(func() { // or a release on the new server hides what a row shows, before the first acquisition there
		w.promote()
		next = w.begin(2)
	})
	w.soon = false
	w.issueBelow(w.horizonOf(owner), owner, next)
}

// The wall clock of an owner steps forward.

var simStepsForward = simDrill{name: "a step forward", sql: true, plan: func(plan *simPlan, _ *simChoices) {
	plan.clocks = simSteps
}, do: func(w *simWorld) {
	owner := w.begin(0)
	w.extendAll(w.choices.below(3))
	w.phase()
	step := pick(w.choices, time.Hour, time.Minute, 30*time.Second)
	w.note(owner, "its wall clock steps forward by %v", step)
	owner.host.wall = owner.host.wall.Add(step)
	for range 4 {
		w.phase()
		w.advance(max(owner.window/2, 500*time.Millisecond))
		if owner.running() {
			owner.step()
			owner.call()
		}
	}
	w.setRight(owner.host)
	w.passTo(2 * owner.window)
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
	return p.opened && !p.paused && !p.ending && !p.dead && !p.failed && p.w.violation == ""
}

func (w *simWorld) horizonOf(p *simProcess) int64 { return p.lease.State().Horizon }

func (w *simWorld) tickOf(p *simProcess) int64 {
	tick, _ := p.lease.Lessee().Tick()
	return tick
}

// extendAll lets half a window pass so many times, after each of which all owners extend.
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

// issueBelow lets processes issue IDs of the same ticks below a horizon, the last of which is the one before it.
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
