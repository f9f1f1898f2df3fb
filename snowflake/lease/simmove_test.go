package lease_test

import (
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

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
