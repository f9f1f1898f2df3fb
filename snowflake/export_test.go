package snowflake

import "time"

// NowTick returns the tick that the generator's clock shows.
func (g *Generator) NowTick() int64 {
	tick, err := g.core.Lessee.Tick()
	if err != nil {
		panic(err)
	}
	return tick
}

// LeadTicks returns how many ticks the generator may lead.
func (g *Generator) LeadTicks() int64 { return g.core.Lessee.Lead() }

// WithRandom is WithRandomStart with a given source of numbers below a limit.
func WithRandom(random func(limit uint64) uint64) Option {
	return func(c *config) error {
		c.random = random
		return nil
	}
}

// FirstSequence returns the sequence at which a worker begins the tick that contains t.
func (l Layout) FirstSequence(t time.Time, worker int64) int64 {
	tick, err := l.space.TickOf(t)
	if err != nil {
		panic(err)
	}
	return l.space.FirstSequence(tick, worker)
}
