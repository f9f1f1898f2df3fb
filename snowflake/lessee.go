package snowflake

import (
	"cmp"
	"fmt"
	"time"
)

// Lessee is a generator's side of a lease. Package lease uses it, and so can a lease of your own. Its generator has no
// worker and issues nothing until Move gives it one, and then only IDs whose tick is below the horizon: the first tick
// that the lease's store has not promised to this owner.
//
// Its methods are safe for concurrent use, also with its generators.
type Lessee struct {
	gen    *Generator
	source *source
}

// NewLessee returns a lessee whose generator has the given options. Calls whose context has no deadline wait for the
// horizon to rise for at most patience, which may be 0, by the generator's clock; other calls wait until their context
// ends. trust confirms steps forward of the wall clock before the generator follows them; nil confirms all. The errors
// are those of New, and ErrOption for a negative patience.
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
	c.lead, c.trust = g.reach.lead, trust
	s := g.source
	s.patience, s.changed, s.wanted = patience, make(chan struct{}), make(chan struct{}, 1)
	s.current.Store(c)
	return &Lessee{gen: g, source: s}, nil
}

// Generator returns the generator.
func (l *Lessee) Generator() *Generator { return l.gen }

// Tick returns the current tick by the generator's clock. It returns ErrBeforeEpoch or ErrTimeExhausted if the clock is
// outside the layout's time.
func (l *Lessee) Tick() (int64, error) {
	c := l.source.current.Load()
	now, err := c.read()
	if err != nil {
		return 0, err
	}
	return int64(c.tick(now)), nil
}

// Move makes the generator issue IDs of the worker, from the tick from on and below the horizon. It first ends the use
// of the previous worker and raises from, if necessary, above all of its IDs.
//
// No ID mixes the two: a call that has taken its IDs from the previous worker returns those, below the previous
// horizon; a call that has not takes them from the new one.
//
// It returns ErrFieldRange for a worker that does not fit into its field or a negative tick, and the error of an
// earlier Fail or Close.
func (l *Lessee) Move(worker, from, horizon int64) error {
	layout := l.gen.layout
	if err := layout.worker.check(layout.workerLabel(), worker); err != nil {
		return err
	}
	if err := layout.time.check("start", from); err != nil {
		return err
	}
	s := l.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	old := s.retire()
	c := &core{
		layout: old.layout, clock: old.clock, bubble: old.bubble, ticker: old.ticker, bits: old.bits, mask: old.mask,
		end: old.end, last: old.last, lead: old.lead, trust: old.trust, setting: old.setting, counters: old.counters,
		worker: worker, stamp: layout.worker.put(worker),
		start: state(max(ticks(from), s.last+1))<<old.bits - 1,
	}
	c.state.Store(c.start)
	c.setHorizon(horizon)
	s.current.Store(c)
	s.broadcast()
	return nil
}

// Withdraw ends the use of the worker at once, for a lease that has lost it. After it returns no call takes IDs until
// the next Move, as if the horizon were reached; calls that wait for theirs to be due may still return them. The
// generator's Worker stays the same until then.
func (l *Lessee) Withdraw() {
	s := l.source
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retire()
}

// Extend raises the horizon; a lower one changes nothing.
func (l *Lessee) Extend(horizon int64) {
	s := l.source
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.Load().setHorizon(horizon)
	s.broadcast()
}

// Lead returns by how many ticks an ID may be ahead of the clock (WithLead). A horizon should be ahead of the clock by
// that much and the time until it is raised again.
func (l *Lessee) Lead() int64 { return int64(l.gen.reach.lead) }

// Wanted returns a channel that has an element when a call waits for the horizon to rise. A lease should then extend
// it, unless it is doing so already.
func (l *Lessee) Wanted() <-chan struct{} { return l.source.wanted }

// Fail makes calls for IDs at or above the horizon return err, ErrLeaseStalled if err is nil, instead of waiting.
func (l *Lessee) Fail(err error) {
	s := l.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = cmp.Or(err, ErrLeaseStalled)
	}
	s.broadcast()
}

// Close makes all later calls return err, ErrLeaseStalled if err is nil. After it returns no call takes IDs; calls that
// wait for theirs to be due may still return them.
//
// It returns the first tick, 1 or higher, above those of all IDs taken, whether returned or not. This generator does
// not use the ticks from there to the horizon, so they may be given to another. Further calls return the same.
func (l *Lessee) Close(err error) (next int64) {
	s := l.source
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = cmp.Or(err, ErrLeaseStalled)
	s.retire()
	s.broadcast()
	return int64(s.last) + 1
}

// setHorizon raises the limit to the last state below the horizon.
func (c *core) setHorizon(horizon int64) {
	limit := c.last
	if horizon <= 0 {
		limit = 0
	} else if ticks(horizon) <= c.tickOf(c.last) {
		limit = state(horizon)<<c.bits - 1
	}
	if limit > c.limit.Load() {
		c.limit.Store(limit)
	}
}
