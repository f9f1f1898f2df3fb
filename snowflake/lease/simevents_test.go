package lease_test

import "time"

// simEvent is a kind of event.
type simEvent struct {
	name   string
	weight int
	clocks bool // makes clocks wrong
	do     func(w *simWorld)
}

// simEvents is set in init, since events may contain events.
var (
	simEvents  []simEvent
	simWeights int
)

func init() {
	simEvents = []simEvent{
		{"call", 100, false, func(w *simWorld) {
			if p := w.process(func(p *simProcess) bool { return p.opened && !p.paused }); p != nil {
				p.call()
			}
		}},
		{"advance", 24, false, func(w *simWorld) {
			d := w.choices.span(min(w.plan.layout.Tick(), w.plan.window)/4, 4*w.plan.window)
			w.note(nil, "%v pass", d)
			w.advance(d)
			w.runDue()
		}},
		{"steps", 24, false, (*simWorld).runDue},
		{"start", 22, false, func(w *simWorld) {
			i := w.choices.below(len(w.slots))
			old := w.slots[i]
			if old != nil && (!old.dead || len(old.doing) > 0) {
				return
			}
			if old != nil {
				w.tally["restarts"]++
			}
			w.slots[i] = w.start(pick(w.choices, w.hosts...))
			w.slots[i].step()
		}},
		{"fault", 12, false, func(w *simWorld) {
			if p := w.process(func(*simProcess) bool { return true }); p != nil {
				p.fault = pick(w.choices, simLoseReply, simDropRequest, simLateRequest)
				p.faults = 1 + w.choices.below(3)
			}
		}},
		{"resume", 10, false, func(w *simWorld) {
			if p := w.process(func(p *simProcess) bool { return p.paused }); p != nil {
				p.resume()
			}
		}},
		{"pause", 6, false, func(w *simWorld) {
			if p := w.process(func(p *simProcess) bool { return !p.paused }); p != nil {
				w.tally["pauses"]++
				w.note(p, "is paused")
				p.paused = true
			}
		}},
		{"late", 8, false, (*simWorld).eventLate},
		{"crash", 4, false, func(w *simWorld) {
			if p := w.process(func(*simProcess) bool { return true }); p != nil {
				p.crash()
			}
		}},
		{"close", 6, false, func(w *simWorld) {
			if p := w.process(func(p *simProcess) bool { return p.opened && !p.paused && !p.stepping() }); p != nil {
				p.close()
			}
		}},
		{"outage", 2, false, func(w *simWorld) {
			w.tally["outages"]++
			d := w.choices.span(w.plan.window/16, 8*w.plan.window)
			w.note(nil, "the store is down for %v", d)
			w.down = w.now.Add(d)
		}},
		{"step", 6, true, func(w *simWorld) {
			d := w.choices.span(5*time.Millisecond, 24*time.Hour)
			if w.choices.oneIn(2) {
				d = -d
				w.tally["steps back"]++
			} else {
				w.tally["steps forward"]++
			}
			i := w.choices.below(len(w.hosts))
			w.note(nil, "the wall clock of host %d steps by %v", i, d)
			w.hosts[i].wall = w.hosts[i].wall.Add(d)
		}},
		{"set right", 5, true, (*simWorld).eventSetRight},
		{"leap", 1, true, func(w *simWorld) {
			w.tally["leap seconds"]++
			w.note(nil, "a second is repeated everywhere")
			for _, h := range w.hosts {
				h.wall = h.wall.Add(-time.Second)
			}
		}},
		{"drift", 2, true, func(w *simWorld) {
			w.tally["drifts"]++
			i := w.choices.below(len(w.hosts))
			w.hosts[i].rate = pick[int64](w.choices, 0, 200, -200, 20_000, -20_000, 500_000, -500_000)
			w.note(nil, "the clocks of host %d run %d ppm fast", i, w.hosts[i].rate)
		}},
		{"suspend", 2, true, func(w *simWorld) {
			w.tally["suspends"]++
			i := w.choices.below(len(w.hosts))
			d := w.choices.span(time.Millisecond, 10*time.Hour)
			w.note(nil, "host %d sleeps for %v", i, d)
			w.suspend(w.hosts[i], d)
		}},
		{"store step", 2, true, func(w *simWorld) {
			if !w.plan.wild {
				return
			}
			w.tally["store clock steps"]++
			d := w.choices.span(5*time.Millisecond, 24*time.Hour)
			if w.choices.oneIn(2) {
				d = -d
			}
			w.note(nil, "the store's clock steps by %v", d)
			w.storeNow = w.storeNow.Add(d)
		}},
		{"failover", 4, false, (*simWorld).eventFailover},
	}
	for _, e := range simEvents {
		simWeights += e.weight
	}
}

// event makes an event happen.
func (w *simWorld) event() {
	w.events++
	if w.healing {
		return
	}
	const copies = 4 // the weight of eventCopy
	if w.kind.copies && w.choices.below(simWeights+copies) < copies {
		w.eventCopy()
		return
	}
	n := w.choices.below(simWeights)
	for _, e := range simEvents {
		if n -= e.weight; n < 0 {
			if !e.clocks || !w.kind.forgets {
				e.do(w)
			}
			return
		}
	}
}

// process picks one of the slots and returns its process if that meets the condition, else nil.
func (w *simWorld) process(is func(*simProcess) bool) *simProcess {
	p := w.slots[w.choices.below(len(w.slots))]
	if p == nil || p.dead || !is(p) {
		return nil
	}
	return p
}

// runDue makes the steps that are due. Some are delayed.
func (w *simWorld) runDue() {
	for _, p := range w.slots {
		if p != nil && !p.dead && !p.paused && !p.failed && !p.stepping() && !w.now.Before(p.due) && !w.over() &&
			(w.healing || !w.choices.oneIn(8)) {
			p.step()
		}
	}
}

func (w *simWorld) eventLate() {
	if n := len(w.late); n > 0 {
		i := w.choices.below(n)
		request := w.late[i]
		w.late = append(w.late[:i], w.late[i+1:]...)
		request()
	}
}

// eventSetRight is what a time server does.
func (w *simWorld) eventSetRight() {
	i := w.choices.below(len(w.hosts))
	w.note(nil, "the clocks of host %d are set right", i)
	w.hosts[i].wall, w.hosts[i].rate = w.now, 0
}

// eventFailover makes the store forget what it has committed since the replica got the last commit.
func (w *simWorld) eventFailover() {
	switch {
	case !w.kind.forgets, len(w.ledger.grants) == 0: // a replica without the namespace can't know that it has forgotten it
	case w.backup == nil:
		w.note(nil, "the replica of the store gets nothing more")
		w.cut, w.clock = w.now, w.serverClock()
		w.backup = w.memory.(*simSQL).clone(w.clock)
	case (w.plan.other != w.plan.window || w.kind.moves) && !w.kind.hasty && w.now.Sub(w.cut) > w.plan.delay:
		w.note(nil, "the replica has lagged for too long, and gets all again") // what a raised reach and an announcement wait for
		w.backup = nil
	default:
		w.tally["failovers"]++
		w.note(nil, "the replica of the store is promoted")
		w.memory, w.backup, w.fellTo = w.backup, nil, w.clock()
		w.store.Store = w.memory
		w.forget()
	}
}
