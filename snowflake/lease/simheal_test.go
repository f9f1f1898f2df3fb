package lease_test

import (
	"context"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

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
		h.wall, h.rate = w.now, 0
	}
	w.skipAhead()
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
		bound += window + w.plan.lead + 4*lease.DefaultMaxSkew // until new owners are above the floor, and rows from before it expire
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
