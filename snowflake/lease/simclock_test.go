package lease_test

import (
	"context"
	"errors"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// simHost has the clocks of a host. Several processes may run on it.
type simHost struct {
	wall  time.Time
	right time.Duration // how far it is from true time when it is right
	mono  time.Duration
	rate  int64 // of both clocks, in millionths above that of true time
}

func (h *simHost) advance(d time.Duration) {
	d += time.Duration(int64(d) / 1_000_000 * h.rate)
	h.wall = h.wall.Add(d)
	h.mono += d
}

// simServer has the clock of a server of the store.
type simServer struct {
	w            *simWorld
	right, wrong time.Duration // how far it is from true time, and from that when it is right
}

func (s *simServer) now() time.Time {
	if s.w.kind.expiry && s.w.caller != nil {
		return s.w.caller.host.wall
	}
	return s.w.storeNow.Add(s.right + s.wrong)
}

// step makes the clock wrong, or right: 0.
func (s *simServer) step(wrong time.Duration) {
	s.w.shown = later(s.w.shown, s.now())
	if wrong > s.wrong {
		s.w.hastened = s.w.now
	}
	s.wrong = wrong
	s.w.ahead = max(s.w.ahead, s.right+s.wrong)
}

// setRight is what a time server does.
func (w *simWorld) setRight(h *simHost) {
	w.shown = later(w.shown, h.wall)
	h.wall, h.rate = w.now.Add(h.right), 0
}

// agree sets all clocks right, and reports whether a failover to a server with the clock now repeats no ID.
func (w *simWorld) agree(now func() time.Time) bool {
	for _, h := range w.hosts {
		w.setRight(h)
	}
	w.memory.(*simSQL).server.step(0)
	skew := min(w.plan.skew, lease.DefaultMaxSkew)
	if w.plan.clocks == "" {
		return true
	}

	noneAhead := !w.shown.After(now().Add(skew))
	return noneAhead && w.now.Sub(w.hastened) > 2*max(w.plan.window, w.plan.other)
}

// advance lets time pass for all clocks.
func (w *simWorld) advance(d time.Duration) {
	w.now = w.now.Add(d)
	w.storeNow = w.storeNow.Add(d)
	for _, h := range w.hosts {
		h.advance(d)
	}
}

// suspend lets time pass while a host sleeps and its monotonic clock stands still.
func (w *simWorld) suspend(h *simHost, d time.Duration) {
	mono := h.mono
	w.advance(d)
	h.mono = mono
}

// simClock is the clock of a process. It never waits: either the simulated time passes, or the caller gets an error.
type simClock struct{ p *simProcess }

var _ snowflake.Clock = simClock{}

var errSimWait = errors.New("the simulator does not wait")

func (c simClock) Now() time.Time { return c.p.host.wall }

// Elapsed is called by every call of the generator, also between the draw of an ID that is not due yet and its return.
// So other events happen here.
func (c simClock) Elapsed() time.Duration {
	if c.p.calling() {
		for range 1 + c.p.w.kind.readings {
			c.p.w.interleave(20)
		}
	}
	return c.p.host.mono
}

func (c simClock) Sleep(_ context.Context, d time.Duration) error {
	w := c.p.w
	if d <= 0 || w.healing || w.choices.oneIn(2) {
		if c.p.calling() {
			w.interleave(4) // after the draw, before it is given back
		}
		w.tally["refused waits"]++
		return errSimWait
	}

	w.tally["sleeps"]++
	w.note(c.p, "sleeps for %v", d)
	w.advance(d + time.Microsecond)
	if c.p.calling() {
		w.interleave(4)
	}
	return nil
}

// simDeepest is how many events are within each other at most.
const simDeepest = 3

// interleave lets another event happen, once in n times.
func (w *simWorld) interleave(n int) {
	if len(w.meanwhile) > 0 {
		do := w.meanwhile[0]
		w.meanwhile = w.meanwhile[1:]
		if do != nil {
			w.depth++
			do()
			w.depth--
		}
		return
	}
	if w.depth >= simDeepest || w.over() {
		return
	}

	w.depth++
	for range w.choices.interruptions(n) {
		end := w.choices.nest()
		w.event()
		end()
	}
	w.depth--
}
