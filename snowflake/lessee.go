package snowflake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrLeaseStalled is returned by the Next calls and Fill of a generator with a
// lease when the IDs asked for lie at or above the horizon and that did not rise
// in time: before the context ended, or within the patience if the context has no
// deadline. The next call may succeed.
var ErrLeaseStalled = errors.New("snowflake: the lease was not extended in time")

// Lessee is a generator's side of a lease: package lease drives it, and so can a
// lease of your own. A generator without a fixed worker issues nothing until
// Move gives it one, and only IDs whose tick lies below the horizon: the first
// tick that the store has not promised to this owner.
//
// Its methods are safe for concurrent use, also with its generators.
type Lessee struct {
	gen      *Generator
	patience time.Duration
	current  atomic.Pointer[core]

	wanted chan struct{} // has an element when a call waits

	mu      sync.Mutex
	changed chan struct{} // closed when current, its limit or err changes
	last    uint64        // tick of the last ID that an earlier worker may have issued
	err     error         // for calls that are beyond the horizon for ever
}

// NewLessee returns a lessee whose generator has the given options. Calls whose
// context has no deadline wait for the horizon to rise no longer than patience,
// which may be 0; it must not be negative (ErrOption). Other calls wait until
// their context ends. trust confirms steps forward of
// the wall clock before the generator follows them; nil confirms all. The errors
// are those of New.
func NewLessee(patience time.Duration, trust func(wall time.Time) bool, opts ...Option) (*Lessee, error) {
	if patience < 0 {
		return nil, fmt.Errorf("%w: negative patience %v", ErrOption, patience)
	}
	g, cfg, err := build(opts)
	if err != nil {
		return nil, err
	}
	c, _, err := openCore(cfg.layout, cfg.clock)
	if err != nil {
		return nil, err
	}
	c.lead, c.trust = g.lead, trust
	l := &Lessee{gen: g, patience: patience, changed: make(chan struct{}), wanted: make(chan struct{}, 1)}
	g.lessee = l
	l.current.Store(c)
	return l, nil
}

// Generator returns the generator.
func (l *Lessee) Generator() *Generator { return l.gen }

// Tick returns the tick that the generator's clock shows. Its errors are those of
// Next that concern the clock.
func (l *Lessee) Tick() (int64, error) {
	c := l.current.Load()
	now, err := c.read()
	if err != nil {
		return 0, err
	}
	return int64(c.ticker.div(now)), nil
}

// Move makes the generator issue the IDs of the worker from the tick from on and
// below the horizon. Before that it ends the use of the worker before, and starts
// above all of its IDs: from is raised if it has to be.
//
// No ID mixes the two: a call that has drawn from the old worker returns an ID of
// the old worker, below the old horizon; a call that has not, draws from the new.
//
// It returns a *FieldError for a worker outside its field or a negative tick, and
// the error of Fail or Close after one of these.
func (l *Lessee) Move(worker, from, horizon int64) error {
	layout := l.gen.layout
	for _, check := range []error{
		checkField(layout.workerLabel(), worker, layout.worker),
		checkField("start", from, layout.time),
	} {
		if check != nil {
			return check
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	old := l.retire()
	c := &core{
		layout: old.layout, clock: old.clock, bubble: old.bubble, ticker: old.ticker, bits: old.bits, mask: old.mask,
		lead: old.lead, end: old.end, last: old.last, trust: old.trust, counters: old.counters,
		worker: layout.worker.put(worker),
	}
	c.offset.Store(old.offset.Load())
	c.syncAt.Store(old.syncAt.Load())
	c.start = max(uint64(from), l.last+1)<<c.bits - 1
	c.state.Store(c.start)
	c.setHorizon(horizon)
	l.current.Store(c)
	l.broadcast()
	return nil
}

// retire freezes the current core, after which nobody can draw from it any more,
// and notes how far it came.
func (l *Lessee) retire() *core {
	old := l.current.Load()
	if state := old.state.Swap(frozen); state != frozen {
		l.last = state >> old.bits
		old.retired.Add(state - old.start)
	}
	return old
}

// Extend raises the horizon; a lower one changes nothing.
func (l *Lessee) Extend(horizon int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current.Load().setHorizon(horizon)
	l.broadcast()
}

// Lead returns how many ticks an ID may be ahead of the clock (WithLead): a horizon
// that is to last has to be ahead by as much again.
func (l *Lessee) Lead() int64 { return int64(l.gen.lead) }

// Wanted returns a channel that has an element when a call waits for the horizon
// to rise: a lease that is not busy with that already should extend it now.
func (l *Lessee) Wanted() <-chan struct{} { return l.wanted }

// Fail lets the generator go on up to the horizon and makes calls return err
// from there on, ErrLeaseStalled if err is nil.
func (l *Lessee) Fail(err error) {
	err = cmp.Or(err, ErrLeaseStalled)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	l.broadcast()
}

// Close makes all further calls return err at once, ErrLeaseStalled if it is nil. When it returns no more IDs
// are drawn, and never will be; calls that wait for theirs to be due may still return.
//
// It returns the first tick, 1 or higher, that lies above those of all IDs drawn, whether they were returned
// or not: from there on the horizon is of no use to this generator, and may be given to another. Further
// calls return the same.
func (l *Lessee) Close(err error) (next int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = cmp.Or(err, ErrLeaseStalled)
	l.retire()
	l.broadcast()
	return int64(l.last) + 1
}

func (l *Lessee) broadcast() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// setHorizon raises the limit to the last state below the horizon.
func (c *core) setHorizon(horizon int64) {
	limit := c.last
	if horizon <= 0 {
		limit = 0
	} else if uint64(horizon) <= c.last>>c.bits {
		limit = uint64(horizon)<<c.bits - 1
	}
	if limit > c.limit.Load() {
		c.limit.Store(limit)
	}
}

// await returns when a call that has found the state beyond the limit of c should
// look again.
func (l *Lessee) await(ctx context.Context, c *core, state uint64) error {
	var patience <-chan time.Time
	if _, limited := ctx.Deadline(); !limited {
		timer := time.NewTimer(l.patience)
		defer timer.Stop()
		patience = timer.C
	}
	for {
		l.mu.Lock()
		current, changed, err := l.current.Load(), l.changed, l.err
		l.mu.Unlock()
		if current != c || state <= c.limit.Load() {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case l.wanted <- struct{}{}:
		default:
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrLeaseStalled, waitError(ctx))
		case <-patience:
			return fmt.Errorf("%w: waited %v", ErrLeaseStalled, l.patience)
		}
	}
}
