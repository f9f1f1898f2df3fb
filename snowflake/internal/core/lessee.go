package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// ErrLeaseStalled is snowflake.ErrLeaseStalled.
var ErrLeaseStalled = errors.New("snowflake: the lease was not extended in time")

// Lessee says which worker a generator uses and up to which horizon. The horizon is the first tick that a lease's store
// has not promised to this owner: only IDs below it are issued. The horizon of a fixed worker is the layout's end.
//
// The methods are for leases. They are safe for concurrent use with each other and with the generators.
type Lessee struct {
	current  atomic.Pointer[worker]
	lead     Ticks
	patience time.Duration
	wanted   chan struct{} // has an element when a call stalls
	stalled  func(err, cause error) error

	mu      sync.Mutex
	changed chan struct{} // closed when current, its limit or err changes
	last    Ticks         // of the last ID that an earlier worker may have issued
	cause   error         // why the horizon does not rise
	err     error         // for calls beyond a horizon that no longer rises
}

// Tick returns the current tick by the generator's clock. It returns ErrBeforeEpoch or ErrTimeExhausted if the clock is
// outside the layout's time.
func (l *Lessee) Tick() (int64, error) {
	w := l.current.Load()
	now, err := w.read()
	if err != nil {
		return 0, err
	}
	return int64(w.tick(now)), nil
}

// Wall returns the time of the wall clock that the generator's clock follows.
func (l *Lessee) Wall() time.Time {
	return l.current.Load().anyClock().Now().Round(0)
}

// SetBack sets the generator's clock back by that many ticks, after the wall clock was set back by more than a lease
// can wait for. IDs stay in order: calls wait until the clock has reached the next one. SetBack returns its tick.
func (l *Lessee) SetBack(ticks int64) (next int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.current.Load()
	by := int64(w.span(Ticks(ticks)))

	w.offset.Add(-by)
	w.drift.Add(by)
	w.syncAt.Store(0) // or the next comparison would be as far ahead as the clock was

	if last := w.state.Load(); last != frozen {
		return int64(w.tickOf(last + 1))
	}
	return int64(l.last) + 1
}

// Lead returns by how many ticks an ID may be ahead of the clock (WithLead).
func (l *Lessee) Lead() int64 { return int64(l.lead) }

// Move makes the generator issue IDs of the worker, from the tick from on and below the horizon. It first ends the use
// of the previous worker and raises from, if necessary, above all of its IDs. No ID mixes the two workers: a call that
// has taken its IDs from the previous one returns them.
//
// It returns ErrFieldRange for a worker or a tick that does not fit, and the error of an earlier Fail or Close.
func (l *Lessee) Move(number, from, horizon int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()

	space := l.current.Load().space
	err := cmp.Or(space.Worker.Check("worker", number), space.Time.Check("start", from), l.err)
	if err != nil {
		return err
	}

	old := l.retire()
	w := &worker{common: old.common, number: number, stamp: space.Worker.Put(number)}

	w.start = state(max(Ticks(from), l.last+1))<<w.bits - 1
	w.state.Store(w.start)
	w.setHorizon(horizon)

	l.current.Store(w)
	l.broadcast()
	return nil
}

// Withdraw ends the use of the worker at once, for a lease that has lost it. After it returns no call takes IDs until
// the next Move, as if the horizon were reached; calls that wait until their IDs are due may still return them.
func (l *Lessee) Withdraw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retire()
}

// Extend raises the horizon; a lower one changes nothing.
func (l *Lessee) Extend(horizon int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current.Load().setHorizon(horizon)
	l.broadcast()
}

// Wanted returns a channel that has an element when a call waits for the horizon to rise. A lease should then extend
// it, unless it is doing so already.
func (l *Lessee) Wanted() <-chan struct{} { return l.wanted }

// Explain says why the horizon does not rise now, for the errors of the calls that stall; nil if it does.
func (l *Lessee) Explain(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cause = cause
}

// Fail makes calls for IDs at or above the horizon return err, ErrLeaseStalled if err is nil, instead of waiting.
func (l *Lessee) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = cmp.Or(l.err, err, ErrLeaseStalled)
	l.broadcast()
}

// Close makes all later calls return err, ErrLeaseStalled if err is nil. After it returns no call takes IDs; calls that
// wait until their IDs are due may still return them. It returns the first tick, 1 or higher, above all IDs taken,
// whether returned or not: the ticks from there to the horizon may be given to another. Further calls return the same.
func (l *Lessee) Close(err error) (next int64) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.err = cmp.Or(err, ErrLeaseStalled)
	l.retire()
	l.broadcast()
	return int64(l.last) + 1
}

// setHorizon raises the limit to the last state below the horizon.
func (w *worker) setHorizon(horizon int64) {
	if horizon <= 0 {
		return
	}
	end := min(Ticks(horizon), w.tickOf(w.last)+1)
	w.limit.Store(max(w.limit.Load(), state(end)<<w.bits-1))
}

// retire freezes the current worker, after which no call can take IDs from it, and records how far it came.
func (l *Lessee) retire() *worker {
	old := l.current.Load()
	if last := old.state.Swap(frozen); last != frozen {
		l.last = old.tickOf(last)
		old.retired.Add(uint64(last - old.start))
	}
	return old
}

// broadcast wakes the calls that stall.
func (l *Lessee) broadcast() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// stall waits until the lessee has raised the limit of w to the state wanted, or has replaced w: then the call tries
// again.
func (l *Lessee) stall(ctx context.Context, w *worker, wanted state) error {
	start := w.elapsed()
	changed, ready, err := l.ready(w, wanted)
	if ready {
		return err
	}

	err = l.await(ctx, w, wanted, changed)
	w.observe(Wait{Lease: true, Took: w.elapsed() - start, Err: err})
	return err
}

// ready reports whether a call that has found the limit of w below the state wanted need not wait: it tries again, or
// fails with the error. Otherwise changed is closed when that may be different.
func (l *Lessee) ready(w *worker, wanted state) (changed <-chan struct{}, ready bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.current.Load() != w || wanted <= w.limit.Load() {
		return nil, true, nil
	}
	return l.changed, l.err != nil, l.err
}

// await asks the lease for a higher horizon until the call is ready, or its ctx ends, or the patience if ctx has no
// deadline.
func (l *Lessee) await(ctx context.Context, w *worker, wanted state, changed <-chan struct{}) (err error) {
	patient, stop := l.withPatience(ctx, w)
	defer stop()

	for ready := false; !ready; {
		l.askForMore()

		select {
		case <-changed:
			changed, ready, err = l.ready(w, wanted)
		case <-patient.Done():
			if ctx.Err() != nil {
				return l.inVain(contextError(ctx))
			}
			if _, ready, err = l.ready(w, wanted); !ready {
				return l.inVain(context.Cause(patient))
			}
		}
	}
	return err
}

// askForMore tells the lease that a call waits.
func (l *Lessee) askForMore() {
	select {
	case l.wanted <- struct{}{}:
	default:
	}
}

// inVain returns the error of a call that has waited for the lease until err.
func (l *Lessee) inVain(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stalled(fmt.Errorf("%w: %w", ErrLeaseStalled, err), l.cause)
}

// withPatience returns a context that ends with ctx and, if ctx has no deadline, with the patience by the clock of w.
func (l *Lessee) withPatience(ctx context.Context, w *worker) (patient context.Context, stop func()) {
	if _, limited := ctx.Deadline(); limited {
		return ctx, func() {}
	}

	patient, end := context.WithCancelCause(ctx)
	over := fmt.Errorf("waited %v", l.patience)
	if l.patience == 0 {
		end(over)
		return patient, func() {}
	}

	go func() {
		if err := w.anyClock().Sleep(patient, l.patience); err != nil {
			over = fmt.Errorf("waiting for the clock: %w", err)
		}
		end(over)
	}()
	return patient, func() { end(nil) }
}

// count returns the current worker, its state, and how many IDs were issued. A call moves the state before it counts
// what it skipped, so count retries until both belong together.
func (l *Lessee) count() (w *worker, last state, issued uint64) {
	for try := range 1000 {
		var complete bool
		if w, last, issued, complete = l.tryCount(); complete {
			break
		}

		if try < 200 {
			runtime.Gosched()
		} else { // a call that was preempted in between needs a processor, or its thread does
			time.Sleep(time.Millisecond)
		}
	}
	return w, last, issued
}

// tryCount is count, and reports whether no call has moved or counted anything meanwhile.
func (l *Lessee) tryCount() (w *worker, last state, issued uint64, complete bool) {
	l.mu.Lock() // keeps the worker from being replaced or frozen
	defer l.mu.Unlock()

	w = l.current.Load()
	unissued, taken := w.unissued(), w.retired.Load()
	if last = w.state.Load(); last != frozen {
		taken += uint64(last - w.start)
	}

	// In this order: a call that skips states counts them before it has ended to skip.
	skipsCounted := w.skipping.Load() == 0 && w.unissued() == unissued
	return w, last, taken - min(taken, unissued), skipsCounted && w.state.Load() == last
}
