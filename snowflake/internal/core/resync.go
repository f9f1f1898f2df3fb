package core

import "time"

const (
	// resyncEvery is how often a call compares the wall clock with the generator's.
	resyncEvery = nanos(time.Second)

	// catchUpStep is by how much the clock of a generator is set back at most at a resync, after a step back of the
	// wall clock. A call that has read the clock before takes an ID by the old time, which later calls must not wait
	// for: it is therefore half the default lead, also after an hour without a call.
	catchUpStep = 5 * time.Millisecond
)

// read reads the clock and compares it with the wall clock when that is due.
func (w *worker) read() (nanos, error) {
	now := w.now()
	if now < w.syncAt.Load() {
		return now, nil
	}
	return w.resync(now)
}

// resync compares the generator's clock with the wall clock. It is called for a now at or above syncAt: once a second,
// and when the clock is before the epoch or past the layout's end. Steps forward of the wall clock are followed, steps
// back caught up with.
func (w *worker) resync(now nanos) (nanos, error) {
	if w.inOtherBubble() {
		return 0, errForeignClock
	}
	due := w.syncAt.Load()
	if now >= w.end {
		wall, _ := readBoth(w.anyClock())
		if wall.Before(w.space.Epoch()) {
			return 0, w.space.beforeEpoch(wall)
		}
		return 0, w.exhausted(wall)
	}
	// One call reads the wall clock; the others continue with the time they have.
	if now < due || !w.syncAt.CompareAndSwap(due, now+resyncEvery) {
		return now, nil
	}
	offset := w.offset.Load()
	wall, elapsed := readBoth(w.anyClock())
	now = nanos(int64(elapsed) + offset)
	drift := wall.Sub(w.wall(now))
	switch {
	case drift <= stepTolerance, w.trust != nil && !w.trust(wall):
		if slower := w.catchUp(drift, now); slower > 0 && w.offset.CompareAndSwap(offset, offset-int64(slower)) {
			now -= nanos(slower)
			drift += slower
			w.syncAt.Store(now + resyncEvery)
		}
		w.drift.Store(int64(drift))
	case int64(drift) >= int64(w.end-now):
		// A wall clock past the layout's end is not followed, because that could not be undone. The next call compares
		// again.
		w.syncAt.Store(due)
		return 0, w.exhausted(wall)
	case w.offset.CompareAndSwap(offset, offset+int64(drift)):
		// The swap fails if this call was paused and a later one has followed the step already.
		w.drift.Store(0)
		w.steps.Add(1)
		now += nanos(drift)
		w.syncAt.Store(now + resyncEvery)
	}
	if w.syncAt.Load() > now+resyncEvery { // SetBack came after the caller had read the clock
		w.syncAt.Store(now + resyncEvery)
	}
	return now, nil
}

// catchUp returns by how much the clock is to be set back at a resync, after the wall clock was stepped back by more
// than stepTolerance and until both agree. A smaller difference may be an error of readBoth.
//
// IDs that were taken before stay ahead of the clock by at most half the lead, rounded up to ticks, and half of a
// tick's IDs are left, so that a call with few IDs does not wait for the clock.
func (w *worker) catchUp(drift time.Duration, now nanos) time.Duration {
	if drift >= 0 {
		w.catching.Store(false)
	} else if drift < -stepTolerance {
		w.catching.Store(true)
	}
	last := w.state.Load()
	if !w.catching.Load() || last == frozen {
		return 0
	}
	free := -w.untilDue((w.lead+1)/2, now, last+w.mask/2+1)
	return min(-drift, catchUpStep, free)
}
