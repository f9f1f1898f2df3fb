package lease_test

import (
	"context"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// simEvent is a kind of event.
type simEvent struct {
	name   string
	weight int
	clocks string // makes clocks wrong: simSteps, simSuspends or simDrifts
	do     func(w *simWorld)
}

// What makes clocks wrong. Worlds with failovers have one of them, or none.
const (
	simSteps    = "steps"
	simSuspends = "suspends"
	simDrifts   = "drifts"
)

// simEvents is set in init, since events may contain events.
var (
	simEvents  []simEvent
	simWeights int
)

func init() {
	simEvents = []simEvent{
		{"call", 100, "", func(w *simWorld) {
			if p := w.process(func(p *simProcess) bool { return p.opened && !p.paused }); p != nil {
				p.call()
			}
		}},
		{"advance", 24, "", func(w *simWorld) {
			d := w.choices.span(min(w.plan.layout.Tick(), w.plan.window)/4, 4*w.plan.window)
			w.note(nil, "%v pass", d)
			w.advance(d)
			w.runDue()
		}},
		{"steps", 24, "", (*simWorld).runDue},
		{"start", 22, "", func(w *simWorld) {
			i := w.choices.below(len(w.slots))
			old := w.slots[i]
			if old != nil && !old.hasEnded() {
				return
			}
			if old != nil {
				w.tally["restarts"]++
			}
			w.slots[i] = w.start(pick(w.choices, w.hosts...), pick(w.choices, w.plan.window, w.plan.other))
			w.slots[i].step()
		}},
		{"fault", 12, "", func(w *simWorld) {
			if p := w.process(func(*simProcess) bool { return true }); p != nil {
				p.fault = pick(w.choices, simLoseReply, simDropRequest, simLateRequest)
				p.faults = 1 + w.choices.below(3)
			}
		}},
		{"resume", 10, "", func(w *simWorld) {
			if p := w.process(func(p *simProcess) bool { return p.paused }); p != nil {
				p.resume()
			}
		}},
		{"pause", 6, "", func(w *simWorld) {
			if p := w.process(func(p *simProcess) bool { return !p.paused }); p != nil {
				w.tally["pauses"]++
				w.note(p, "is paused")
				p.paused = true
			}
		}},
		{"late", 8, "", (*simWorld).eventLate},
		{"crash", 4, "", func(w *simWorld) {
			if p := w.process(func(*simProcess) bool { return true }); p != nil {
				p.crash()
			}
		}},
		{"close", 6, "", func(w *simWorld) {
			if p := w.process(func(p *simProcess) bool { return p.opened && !p.paused && !p.stepping() }); p != nil {
				p.close()
			}
		}},
		{"outage", 2, "", func(w *simWorld) {
			w.tally["outages"]++
			d := w.choices.span(w.plan.window/16, 8*w.plan.window)
			w.note(nil, "the store is down for %v", d)
			w.down = w.now.Add(d)
		}},
		{"step", 6, simSteps, func(w *simWorld) {
			d := w.choices.span(5*time.Millisecond, w.farthest())
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
		{"set right", 5, simSteps, (*simWorld).eventSetRight},
		{"leap", 1, simSteps, func(w *simWorld) {
			w.tally["leap seconds"]++
			w.note(nil, "a second is repeated everywhere")
			for _, h := range w.hosts {
				h.wall = h.wall.Add(-time.Second)
			}
		}},
		{"drift", 2, simDrifts, func(w *simWorld) {
			w.tally["drifts"]++
			i := w.choices.below(len(w.hosts))
			rates := []int64{0, 200, -200, 20_000, -20_000, 500_000, -500_000}
			if w.kind.forgets { // an owner leaves an eighth of its lease for clocks that run slow
				rates = rates[:5]
			}
			w.hosts[i].rate = pick(w.choices, rates...)
			w.note(nil, "the clocks of host %d run %d ppm fast", i, w.hosts[i].rate)
		}},
		{"suspend", 2, simSuspends, func(w *simWorld) {
			w.tally["suspends"]++
			i := w.choices.below(len(w.hosts))
			d := w.choices.span(time.Millisecond, 10*time.Hour)
			w.note(nil, "host %d sleeps for %v", i, d)
			w.suspend(w.hosts[i], d)
		}},
		{"store step", 2, simSteps, func(w *simWorld) {
			if !w.plan.wild && !w.kind.forgets {
				return
			}

			w.tally["store clock steps"]++
			d := w.choices.span(5*time.Millisecond, w.farthest())
			if w.choices.oneIn(2) {
				d = -d
			}

			w.note(nil, "the store's clock steps by %v", d)
			if w.kind.forgets {
				w.stepServer(d)
				return
			}

			w.storeNow = w.storeNow.Add(d)
		}},
		{"failover", 4, "", (*simWorld).eventFailover},
	}

	for _, e := range simEvents {
		simWeights += e.weight
	}
}

// event makes an event happen.
func (w *simWorld) event() {
	if w.healing {
		return
	}
	if !w.drilling {
		w.events++
	}

	const copies = 4 // the weight of eventCopy
	if w.kind.copies && w.choices.below(simWeights+copies) < copies {
		w.eventCopy()
		return
	}

	n := w.choices.below(simWeights)
	for _, e := range simEvents {
		n -= e.weight
		if n >= 0 {
			continue
		}

		if e.clocks == "" || e.clocks == w.plan.clocks || !w.kind.forgets {
			e.do(w)
		}
		return
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
		if p == nil || w.over() || !p.isDue() {
			continue
		}
		if w.healing || !w.choices.oneIn(8) {
			p.step()
		}
	}
}

// isDue reports whether the next step is, and the process can make it.
func (p *simProcess) isDue() bool {
	switch {
	case p.dead, p.failed, p.paused, p.stepping():
		return false
	default:
		return !p.w.now.Before(p.due)
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
	w.setRight(w.hosts[i])
}

// farthest is how far clocks step. With failovers that is less, since a clock that was ahead puts these off.
func (w *simWorld) farthest() time.Duration {
	if w.kind.forgets {
		return 4 * max(w.plan.window, lease.DefaultMaxSkew)
	}
	return 24 * time.Hour
}

// stepServer makes the clock of the server wrong or right, and those of all hosts with it if they have the same source.
// A server that takes over is right until its first call.
func (w *simWorld) stepServer(wrong time.Duration) {
	p := w.memory.(*simSQL)
	if p.ns.server != p && p.ns.layout != "" {
		return
	}
	if w.choices.oneIn(4) {
		wrong = 0
	}

	p.server.step(wrong)
	if w.choices.oneIn(2) {
		for _, h := range w.hosts {
			w.setRight(h)
			h.wall = h.wall.Add(wrong)
		}
	}
}

// raises reports whether processes may raise the reach of the namespace, which all replicas must know after a while.
func (w *simWorld) raises() bool { return w.plan.other != w.plan.window && !w.kind.hasty }

// eventFailover makes the store forget what it has committed since the replica got the last commit.
func (w *simWorld) eventFailover() {
	switch {
	case !w.kind.forgets:
	case len(w.ledger.grants) == 0: // a replica without the namespace can't know that it has forgotten it
	case w.backup == nil:
		w.note(nil, "the replica of the store gets nothing more")
		w.cut, w.server = w.now, w.newServer(-simOffset)
		w.backup = w.memory.(*simSQL).clone(w.server)

	case w.raises() && w.now.Sub(w.cut) > w.plan.delay:
		w.note(nil, "the replica has lagged for too long, and gets all again") // what a raised reach waits for
		w.backup = nil

	case !w.soon && !w.agree(w.server.now):
		w.tally["put off"]++
	default:
		w.tally["failovers"]++
		w.note(nil, "the replica of the store is promoted")
		w.memory, w.backup, w.fellTo = w.backup, nil, w.server.now()
		w.store.Store = w.memory
		w.forget()
	}
}

// heal corrects all faults and checks that all processes can issue again within bounded time.
func (w *simWorld) heal() {
	w.healing = true
	w.note(nil, "everything is put right")
	w.down = w.now
	for _, request := range w.late {
		request()
	}

	w.late = nil
	w.storeNow = w.now
	if s, ok := w.memory.(*simSQL); ok {
		s.server.step(0)
	}

	for _, h := range w.hosts {
		w.setRight(h)
	}

	w.skipAhead()
	w.moveAgain()
	live := int64(0)
	for _, p := range w.slots {
		switch {
		case p == nil || p.dead:
		case p.failed || live == w.plan.workers-w.plan.share || p.isFarAhead():
			p.crash()
		default:
			live++
			if p.paused {
				p.resume()
			}
		}
	}

	w.awaitAll(max(1, live))
}

// skipAhead lets time pass up to the latest horizon and expiry: clocks that were wrong may have put these far ahead.
func (w *simWorld) skipAhead() {
	entries, err := w.store.List(context.Background(), "")
	if err != nil {
		w.fail(nil, "List: %v", err)
	}

	latest := w.now
	for _, e := range entries {
		horizon := w.plan.layout.Epoch().Add(time.Duration(e.Horizon) * w.plan.layout.Tick())
		for _, t := range []time.Time{horizon, e.Expires} {
			if t.After(latest) {
				latest = t
			}
		}
	}

	w.note(nil, "%v pass until all that is ahead is reached", latest.Sub(w.now))
	w.advance(latest.Sub(w.now))
}

// isFarAhead reports whether the generator's clock is so far ahead that others would refuse the worker for long, if the
// process lost it: its clock slows down, but it is not set back.
func (p *simProcess) isFarAhead() bool {
	tick, err := p.lease.Lessee().Tick()
	return err == nil && p.layout.Start(tick).After(p.w.now.Add(lease.DefaultMaxSkew))
}

// awaitAll makes all live processes, of which there are no more than workers, issue an ID, and a new process in the
// place of each that gives up.
func (w *simWorld) awaitAll(want int64) {
	// Expiry, an extension, the lead, and the reading of the wall clock.
	window := max(w.plan.window, w.plan.other)
	bound := 6*window + 2*w.plan.lead + 4*w.plan.layout.Tick() + 4*time.Second
	if w.kind.forgets {
		// Until new owners are above the floor, and rows from before it expire.
		bound += window + w.plan.lead + 4*lease.DefaultMaxSkew
	}

	end := w.now.Add(bound)
	for w.violation == "" {
		ready := int64(0)
		for i, p := range w.slots {
			if p != nil && p.failed && !p.dead {
				p.crash() // it has stopped for good
			}

			if ready < want && (p == nil || p.dead) {
				p = w.start(w.hosts[0], w.plan.window)
				w.slots[i] = p
				p.step()
			}

			if p == nil || p.dead {
				continue
			}

			if p.opened && !p.healed {
				before := p.drawn
				p.call()
				p.healed = p.drawn > before
			}

			if p.healed {
				ready++
			}
		}

		switch {
		case ready >= want:
			w.tally["heals"]++
			return
		case w.now.After(end):
			w.fail(nil, "%d of %d processes can issue %v after everything was put right", ready, want, bound)
		}

		w.advance(max(min(w.plan.window, w.plan.other)/8, bound/400))
		w.runDue()
	}
}
