package lease_test

import (
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// drill begins a schedule with what random events hardly ever do in this order: an owner reaches no server of the store
// for about as long as its lease lasts, while a replica that lags is promoted, or two are, one after the other. Others take
// its worker over before and after each promotion. Clocks differ as in all schedules.
func (w *simWorld) drill() {
	if w.plan.clocks == simSteps {
		w.drillClocks()
		return
	}
	begin := w.begin
	order := pick(w.choices, []int{0, 1, 2, 3}, []int{1, 0, 2, 3}) // the first one creates the namespace
	begin(order[0])
	owner := w.slots[order[0]]
	if w.plan.workers > 1 && w.choices.below(4) > 0 {
		w.eventFailover() // the replica does not know the second one
		begin(order[1])
		owner = w.slots[order[1]]
	}
	w.extendAll(owner.window/2, w.choices.below(3))
	if w.backup == nil {
		w.eventFailover()
	}
	w.extendAll(owner.window/2, pick(w.choices, 0, 0, 4))
	w.note(owner, "is cut off")
	owner.cutOff = true
	if w.choices.oneIn(2) {
		owner.step() // which may arrive later
	}
	begin(order[1])
	w.pass(owner.window/4, pick(w.choices, 0, 8, 8, 8+w.choices.below(4)))
	w.eventFailover()
	if w.choices.oneIn(2) { // once more
		if w.choices.oneIn(2) {
			w.eventFailover()
		}
		begin(order[2])
		w.pass(owner.window/4, pick(w.choices, 0, 1, 2))
		if w.backup == nil {
			w.eventFailover()
		}
		w.pass(owner.window/4, pick(w.choices, 0, 1, 2))
		w.eventFailover()
	}
	w.eventLate()
	begin(order[3])
	w.pass(owner.window/4, pick(w.choices, 0, 2, 4+4*int(w.plan.skew/owner.window)))
	owner.cutOff = false
	w.note(owner, "is no longer cut off")
	w.pass(owner.window/4, 8)
}

// begin starts a process that may or may not get a worker.
func (w *simWorld) begin(i int) {
	if w.slots[i] == nil {
		w.slots[i] = w.start(w.hosts[i])
		w.slots[i].step()
	}
}

// drillClocks begins a schedule with clocks that are ahead, of the server and all hosts or of one host only, and are set
// right. Generators stay ahead. When no clock would be behind that any more, a replica that lags is promoted: it does not
// know what their owners have been granted since, nor perhaps a worker that one of them has taken over. These are stopped.
func (w *simWorld) drillClocks() {
	ahead := pick(w.choices, 30*time.Second, time.Minute, w.plan.window)
	if w.choices.below(4) > 0 {
		w.memory.(*simSQL).server.step(ahead)
	}
	for _, h := range w.hosts {
		h.wall = h.wall.Add(ahead)
	}
	w.begin(0)
	owner := w.slots[0]
	w.begin(1)
	w.extendAll(owner.window/2, 4)
	w.note(nil, "all clocks are set right")
	for !w.agree(w.newServer().now) {
		w.extendAll(owner.window/2, 1)
	}
	w.eventFailover() // the replica gets nothing more
	if w.choices.oneIn(2) {
		w.takeAnother(owner)
	}
	w.pass(owner.window/4, 2+w.choices.below(8))
	for _, p := range w.slots[:2] {
		if p != nil && w.choices.below(4) > 0 {
			w.note(p, "is stopped")
			p.cutOff = true
		}
	}
	w.pass(owner.window/4, w.choices.below(4))
	w.eventFailover()
	w.begin(2)
	w.pass(owner.window/4, 4+4*int((ahead+2*lease.DefaultMaxSkew)/owner.window))
}

// takeAnother lets a process lose its worker to another one, which ends, and take one over.
func (w *simWorld) takeAnother(p *simProcess) {
	p.cutOff = true
	w.extendAll(p.window/2, 5)
	w.begin(3)
	w.slots[3].crash()
	p.cutOff = false
	w.extendAll(p.window/2, 6)
}

// extendAll lets some spans pass, after each of which all owners extend.
func (w *simWorld) extendAll(span time.Duration, n int) {
	for range n {
		w.advance(span)
		for _, p := range w.slots {
			if p != nil && p.opened && !p.dead && !p.failed {
				p.step()
			}
		}
	}
}

// pass lets some spans pass, in which all processes make steps and issue.
func (w *simWorld) pass(span time.Duration, n int) {
	for range n {
		w.advance(span + span/32*time.Duration(w.choices.below(4)))
		for _, p := range w.slots {
			if p == nil || p.dead || p.failed {
				continue
			}
			if p.paused {
				p.resume()
			}
			if !w.now.Before(p.due) || w.choices.oneIn(4) {
				p.step()
			}
			if p.opened {
				p.call()
			}
		}
	}
}
