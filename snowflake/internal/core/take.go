package core

import (
	"context"
	"runtime"
	"time"
)

// lead is how far a generator may be ahead of the clock.
type lead struct {
	ticks  Ticks
	time   nanos                     // the same
	states state                     // how far a state may be above the clock's floor: ticks<<bits | mask
	random func(limit uint64) uint64 // returns a number below limit; nil without WithRandomStart
}

// start returns the sequence at which count states of a tick without IDs begin. It is so low that the lead has room for
// all of them.
func (l *lead) start(mask state, count uint64) state {
	if l.random == nil || count > uint64(l.states) {
		return 0
	}
	return state(l.random(min(uint64(mask), uint64(l.states)+1-count) + 1))
}

// reaches reports whether a call at now may take s without a wait, and need not skip to a later state: s is at least
// w.floor(now), and above it by no more than the lead. It compares times and not ticks, which takes no division. If now
// is before the tick of s minus the lead, the difference wraps around.
func (l *lead) reaches(w *worker, now nanos, s state) bool {
	tick := nanos(w.space.Tick)
	return now+l.time-nanos(w.tickOf(s))*tick < l.time+tick
}

// take takes count states, at most l.states+1, and returns the first of them when all are due. On an error it has taken
// none, or nobody issues them. With errBeyond it returns the state that is beyond the limit.
func (w *worker) take(ctx context.Context, l *lead, now nanos, count uint64) (state, error) {
	first, early, err := w.advance(l, now, count, false)
	if err != nil || !early {
		return first, err
	}
	if w.inOtherBubble() {
		return 0, errForeignClock
	}
	// The clock was read before the state, and perhaps long before if the goroutine was paused.
	start, err := w.read()
	if err != nil {
		return 0, err
	}
	last := first + state(count) - 1
	if err := w.checkDeadline(ctx, l.ticks, start, last); err != nil {
		return 0, err
	}
	since := w.elapsed()
	if first, err = w.takeInTurn(ctx, l, start, since, count); err != nil {
		return first, err
	}
	last = first + state(count) - 1
	if err := w.wait(ctx, l.ticks, last, since); err != nil {
		w.withdraw(l.ticks, &request{first: first, count: count, served: true})
		return 0, err
	}
	return first, nil
}

// advance moves the state up by count and returns the first of these states. Unless ahead is set it takes nothing that
// is further ahead of the clock than the lead, and reports it as early.
func (w *worker) advance(l *lead, now nanos, count uint64, ahead bool) (first state, early bool, err error) {
	floor := w.floor(now)
	for {
		last := w.state.Load()
		first := last + 1
		if first < floor {
			first = floor + l.start(w.mask, count)
			if first+state(count)-1 > w.limit.Load() {
				first = floor
			}
		}
		next := first + state(count) - 1
		if next > w.limit.Load() {
			if next > w.last && last != frozen {
				return 0, false, w.exhausted(w.space.Start(w.tickOf(next)))
			}
			return next, false, errBeyond
		}
		if !ahead && next-floor > l.states {
			return first, true, nil
		}
		skips := first != last+1
		if skips {
			w.skipping.Add(1)
		}
		swapped := w.state.CompareAndSwap(last, next)
		if skips && swapped {
			w.skipped.Add(uint64(first - last - 1))
		}
		if skips {
			w.skipping.Add(-1)
		}
		if swapped {
			return first, false, nil
		}
		// The clock need not be read again: the state is in order whatever its time.
		if !ahead { // else the caller holds the lock of the queues
			w.backOff()
		}
	}
}

// giveBack takes back the states of a call that failed, unless another call has taken some above them. Otherwise calls
// that are canceled one after the other would lead the clock further and further.
func (w *worker) giveBack(first, last state) {
	if !w.state.CompareAndSwap(last, first-1) {
		w.abandoned.Add(uint64(last - first + 1))
	}
}

// A processor that takes IDs in a row keeps the state in its cache; moving the state between processors takes longer
// than the rest of a call. So a call that lost a race for the state stays away from it: first for backOffLook, and
// then, if other calls have taken at least backOffTaken IDs meanwhile, for backOffAway.
const (
	backOffLook  = 500 * time.Nanosecond
	backOffTaken = 5 // by a processor that takes 100 ns or less for each
	backOffAway  = 8 * time.Microsecond

	// backOffReads bounds how often spin reads the clock, which may be coarse.
	backOffReads = 2000
)

// backOff waits after another call has moved the state.
//
//go:noinline
func (w *worker) backOff() {
	if w.clock != nil { // which may stand still
		runtime.Gosched()
		return
	}
	last := w.state.Load()
	spin(backOffLook)
	if w.state.Load()-last >= backOffTaken {
		spin(backOffAway)
	}
}

// spin returns after d without a system call.
func spin(d time.Duration) {
	end := time.Since(origin) + d
	for range backOffReads {
		if time.Since(origin) >= end {
			return
		}
	}
}
