package lease_test

import (
	"context"
	"errors"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// simHost has the clocks of a host. Several processes may run on it.
type simHost struct {
	wall time.Time
	mono time.Duration
	rate int64 // of both clocks, in millionths above that of true time
}

func (h *simHost) advance(d time.Duration) {
	d += time.Duration(int64(d) / 1_000_000 * h.rate)
	h.wall = h.wall.Add(d)
	h.mono += d
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
		c.p.w.interleave(20)
	}
	c.p.looked = c.p.w.now
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

// interleave lets another event happen, once in n times.
func (w *simWorld) interleave(n int) {
	const deepest = 3
	if w.depth >= deepest || w.over() || !w.choices.oneIn(n) {
		return
	}
	w.depth++
	for range 1 + w.choices.below(3) {
		w.event()
	}
	w.depth--
}
