package snowflake

import "time"

// ErrForeignClock is returned in a testing/synctest bubble that the generator was not created in, and outside of its
// own.
var ErrForeignClock = errForeignClock

// NowTick returns the tick that the generator's clock shows.
func (g *Generator) NowTick() int64 {
	c := g.current()
	return int64(c.tick(c.now()))
}

// LeadTicks returns how many ticks the generator may lead.
func (g *Generator) LeadTicks() int64 { return int64(g.reach.lead) }

// Reaches reports whether Next takes the sequence of the tick when the clock shows now, in nanoseconds since the epoch.
func (g *Generator) Reaches(now time.Duration, tick, sequence int64) bool {
	c := g.current()
	return g.reaches(c, nanos(now), state(tick)<<c.bits|state(sequence))
}

// ReplaceBubbleClock makes clock the one of a generator that was created in a testing/synctest bubble.
func (g *Generator) ReplaceBubbleClock(clock Clock) { g.current().clock = clock }

// Shares reports whether two generators draw from the same state.
func (g *Generator) Shares(other *Generator) bool { return g.current() == other.current() }

// Divide divides with a divider.
func Divide(n, d uint64) uint64 { return newDivider(d).div(n) }

// LimitToIssued makes the last ID taken the last that the generator issues.
func (g *Generator) LimitToIssued() {
	c := g.current()
	c.last = c.state.Load()
	c.limit.Store(c.last)
}

// Spin is what a call does that lost a race.
func Spin(d time.Duration) { spin(d) }

// ServeAndWithdraw is a call whose context ends after another call has served it.
func (g *Generator) ServeAndWithdraw(count uint64) {
	c := g.current()
	own := &request{count: count}
	c.queueOf(g.reach.lead).add(own)
	c.look(g.reach, own, c.now())
	c.withdraw(g.reach, own)
}

// WithRandom is WithRandomStart with a given source of numbers below a limit.
func WithRandom(random func(limit uint64) uint64) Option {
	return optionFunc(func(c *config) error {
		c.random = random
		return nil
	})
}
