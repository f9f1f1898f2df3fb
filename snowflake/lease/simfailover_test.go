package lease_test

import (
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

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
	simExpiredInACall = simDrill{name: "expired in a call", sql: true, plan: planCounted, do: func(w *simWorld) {
		w.drillExpired(true, w.cutOffFor, func(*simProcess) {})
	}}
	simExpiredAsleep = simDrill{name: "expired asleep", sql: true, do: func(w *simWorld) {
		w.drillExpired(false, w.sleepFor, func(*simProcess) {})
	}}
	simExpiredAsleepInACall = simDrill{name: "expired asleep in a call", sql: true, do: func(w *simWorld) {
		w.drillExpired(true, w.sleepFor, func(*simProcess) {})
	}}
	simExpiredSetBack = simDrill{name: "the monotonic clock", sql: true, do: func(w *simWorld) {
		w.drillExpired(false, w.cutOffFor, func(owner *simProcess) { owner.setBack(4 * owner.window) })
	}}
	simExpiredSetBackInACall = simDrill{name: "the monotonic clock in a call", sql: true, do: func(w *simWorld) {
		w.drillExpired(true, w.cutOffFor, func(owner *simProcess) { owner.setBack(4 * owner.window) })
	}}
	simExpiredPaused = simDrill{name: "expired while paused", sql: true, plan: func(plan *simPlan, _ *simChoices) {
		plan.window, plan.delay = 10*time.Second, time.Minute
	}, do: func(w *simWorld) {
		w.drillExpired(false, w.pauseAndCutOffFor, func(owner *simProcess) { owner.setBack(simPause) })
	}}
)

// planCounted lets an owner count on its lease for 7/4 of the window.
func planCounted(plan *simPlan, _ *simChoices) {
	plan.skew, plan.lead, plan.right = time.Millisecond, min(plan.window, snowflake.MaxLead), true
}

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

// simPause is how long both clocks of an owner stand still, as in the pause of a virtual machine. They agree with all
// others within the skew, before and after.
const simPause = lease.DefaultMaxSkew * 9 / 10

// pauseAndCutOffFor begins with a pause. The failover sets clocks right, so the wall clock is set back after it.
func (w *simWorld) pauseAndCutOffFor(owner *simProcess, d time.Duration) {
	w.sleepFor(owner, simPause)
	w.passTo(d - simPause)
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

var simTwoFailovers = simDrill{name: "two failovers", sql: true, plan: planCounted, do: func(w *simWorld) {
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

		// The failover is not put off if the row of the first owner, which the replica has, shows how far ahead clocks
		// were.
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
	w.uninterrupted(func() { // or a release, before the first acquisition on the new server, hides what a row shows
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
