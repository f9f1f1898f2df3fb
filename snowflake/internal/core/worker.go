package core

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// cacheLine is a multiple of the cache line's size on all common processors. It pads the word that all calls write.
	cacheLine = 128

	// frozen is the state of a worker that no longer issues IDs. It is above every limit.
	frozen state = 1 << 63

	// noWorker is the number of a worker that stands for none.
	noWorker = -1
)

const (
	// resyncEvery is how often a call compares the wall clock with the generator's.
	resyncEvery = nanos(time.Second)

	// catchUpStep is by how much the clock of a generator is set back at most at a resync, after a step back of the
	// wall clock. A call that has read the clock before takes an ID by the old time, which later calls must not wait
	// for: it is therefore half the default lead, even after an hour without a call.
	catchUpStep = 5 * time.Millisecond
)

// errBeyond means that the state is above the limit but below the layout's end: the lease has to be extended, or
// another worker has replaced this one. It is never wrapped.
var errBeyond = errors.New("snowflake: beyond the horizon")

// nanos is a time in nanoseconds since the layout's epoch. It is unsigned, so a time before the epoch is a huge number.
type nanos uint64

// state is a position in a worker's sequence of IDs: tick<<bits | sequence.
type state uint64

// atomicOf is an atomic.Uint64 with a unit.
type atomicOf[T ~uint64] struct{ word atomic.Uint64 }

func (a *atomicOf[T]) Load() T    { return T(a.word.Load()) }
func (a *atomicOf[T]) Store(v T)  { a.word.Store(uint64(v)) }
func (a *atomicOf[T]) Swap(v T) T { return T(a.word.Swap(uint64(v))) }
func (a *atomicOf[T]) CompareAndSwap(old, next T) bool {
	return a.word.CompareAndSwap(uint64(old), uint64(next))
}

// worker is what this process knows about one worker of one layout. All generators for it share it.
type worker struct {
	common
	number int64 // or noWorker
	stamp  int64 // its bits in an ID
	start  state // at the start
	limit  atomicOf[state]

	_     [cacheLine]byte
	state atomicOf[state] // of the last ID taken; up to limit
	_     [cacheLine]byte

	queueLock sync.Mutex
	queues    []*queue // one for each lead that a call has waited with
}

// common is what the workers of a lease share. It never changes, except for what the pointers point to.
type common struct {
	space  Space
	clock  Clock // nil for the system clock, which the fast path reads without an interface call
	bubble bool  // the clock belongs to a testing/synctest bubble
	ticker divider
	bits   uint8 // width of the sequence
	mask   state // greatest sequence
	last   state // the greatest state of the layout
	end    nanos // the layout's End, or 292 years after the epoch if that is earlier
	lead   Ticks // greatest lead that a generator may have

	dueError func(in time.Duration, err error) error // see Config
	trust    func(wall time.Time) bool               // confirms a step forward of the wall clock; nil confirms all
	*setting
	*counters
}

// setting is how the clock is set. A resync writes both words, so Move must not copy them in between, nor lose what a
// resync that has begun before writes after it.
type setting struct {
	offset atomic.Int64          // nanos = the clock's Elapsed + offset
	syncAt atomicOf[nanos]       // when the next resync is due
	_      [cacheLine - 2*8]byte // all calls read it
}

// counters are not written by the fast path, except for skipped: once a tick.
type counters struct {
	retired   atomic.Uint64 // states of earlier workers of a lease, used or not
	skipped   atomic.Uint64 // states passed over at the beginning of a tick
	skipping  atomic.Int64  // calls that may have moved the state and not counted what they skipped yet
	abandoned atomic.Uint64 // states taken by calls that failed
	waits     atomic.Uint64
	waited    atomic.Int64 // nanoseconds
	steps     atomic.Uint64
	drift     atomic.Int64 // nanoseconds
	catching  atomic.Bool  // the clock is being slowed down; see catchUp
	observers sync.Map     // of *func(Wait), because functions are not comparable
}

// unissued returns how many states were passed over, or taken by calls that failed.
func (c *counters) unissued() uint64 { return c.skipped.Load() + c.abandoned.Load() }

// anyClock returns the injected clock, or the system clock.
func (c *common) anyClock() Clock {
	if c.clock != nil {
		return c.clock
	}
	return SystemClock{}
}

// injected reports whether the clock was set by WithClock.
func (c *common) injected() bool { return c.clock != nil && !c.bubble }

// now reads the clock. The result is valid only below syncAt; see read.
func (c *common) now() nanos {
	if c.clock != nil {
		return nanos(int64(c.clock.Elapsed()) + c.offset.Load())
	}
	return nanos(int64(time.Since(origin)) + c.offset.Load())
}

// elapsed returns the time of the monotonic clock, which lengths of waits are measured with: now may step.
func (c *common) elapsed() time.Duration { return c.anyClock().Elapsed() }

// tick returns the tick that contains now.
func (c *common) tick(now nanos) Ticks { return Ticks(c.ticker.div(uint64(now))) }

// floor returns the least state of the tick that contains now.
func (c *common) floor(now nanos) state { return state(c.tick(now)) << (c.bits & 63) }

// tickOf returns the tick of a state.
func (c *common) tickOf(s state) Ticks { return Ticks(s >> (c.bits & 63)) }

// wall returns a time below 1<<63 as a time.Time.
func (c *common) wall(now nanos) time.Time { return c.space.Epoch().Add(time.Duration(now)) }

// span returns the duration of n ticks.
func (c *common) span(n Ticks) time.Duration { return time.Duration(n) * c.space.Tick }

// inOtherBubble reports whether one of the caller and the worker is in a testing/synctest bubble and the other is not.
func (c *common) inOtherBubble() bool { return !c.injected() && c.bubble != inBubble() }

// exhausted returns the error for a time that has no ID left.
func (c *common) exhausted(t time.Time) error { return exhausted(t, c.wall(c.end)) }

// untilDue returns how long it takes until the state leads the clock by no more than lead; not positive if it is due.
func (w *worker) untilDue(lead Ticks, now nanos, s state) time.Duration {
	return w.span(w.tickOf(s)-lead) - time.Duration(now)
}

// read reads the clock and compares it with the wall clock when that is due.
func (w *worker) read() (nanos, error) {
	now := w.now()
	if now < w.syncAt.Load() {
		return now, nil
	}
	return w.resync(now)
}

// resync compares the generator's clock with the wall clock. It is called for a now at or above syncAt: once a second,
// and when the clock is before the epoch or past the layout's end. It follows steps forward of the wall clock. After
// steps back it slows the generator's clock until both agree.
func (w *worker) resync(now nanos) (nanos, error) {
	if w.inOtherBubble() {
		return 0, errForeignClock
	}

	due := w.syncAt.Load()
	if now >= w.end {
		return 0, w.outsideLayout()
	}

	// One call reads the wall clock; the others continue with the time they have.
	if now < due || !w.syncAt.CompareAndSwap(due, now+resyncEvery) {
		return now, nil
	}
	return w.compareClocks(due)
}

// outsideLayout returns the error of a call whose clock shows no time of the layout.
func (w *worker) outsideLayout() error {
	wall, _ := readBoth(w.anyClock())
	if wall.Before(w.space.Epoch()) {
		return w.space.beforeEpoch(wall)
	}
	return w.exhausted(wall)
}

// compareClocks is the part of resync that one call executes: the call that has found the comparison due and moved
// syncAt on.
func (w *worker) compareClocks(due nanos) (now nanos, err error) {
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

// lead is how far a generator may be ahead of the clock.
type lead struct {
	ticks  Ticks
	time   nanos                     // the same
	states state                     // how far a state may be above the clock's floor: ticks<<bits | mask
	random func(limit uint64) uint64 // returns a number below limit; nil without WithRandomStart
}

// start returns the sequence of the first of count states in a tick that has no IDs yet: with WithRandomStart a random
// one, low enough for all of them to fit in the lead, else 0.
func (l *lead) start(mask state, count uint64) state {
	if l.random == nil || count > uint64(l.states) {
		return 0
	}
	greatest := min(uint64(mask), uint64(l.states)+1-count)
	return state(l.random(greatest + 1))
}

// reaches reports whether a call at now may take s without a wait, and need not skip to a later state: s is at least
// w.floor(now), and above it by no more than the lead. It compares times and not ticks, which takes no division. If now
// is before the tick of s minus the lead, the difference wraps around.
func (l *lead) reaches(w *worker, now nanos, s state) bool {
	tick := nanos(w.space.Tick)
	return now+l.time-nanos(w.tickOf(s))*tick < l.time+tick
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

		var swapped bool
		if first == last+1 {
			swapped = w.state.CompareAndSwap(last, next) // in line: nearly each call gets here
		} else {
			swapped = w.skip(last, first, next)
		}
		if swapped {
			return first, false, nil
		}

		// The clock need not be read again: the state is in order whatever its time.
		if !ahead { // with ahead the caller holds queueLock, so it must not spin
			w.backOff()
		}
	}
}

// skip moves the state from last to next, and counts the states below first as skipped.
func (w *worker) skip(last, first, next state) bool {
	w.skipping.Add(1)
	swapped := w.state.CompareAndSwap(last, next)
	if swapped {
		w.skipped.Add(uint64(first - last - 1))
	}
	w.skipping.Add(-1)
	return swapped
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

// Wait is snowflake.Wait.
type Wait struct {
	Lease bool
	Took  time.Duration
	Err   error
}

// observe tells the observers about a wait. No lock is held while they run.
func (w *worker) observe(wait Wait) {
	w.observers.Range(func(observe, _ any) bool {
		(*observe.(*func(Wait)))(wait)
		return true
	})
}
