package snowflake

// NowTick returns the tick that the generator's clock shows.
func (g *Generator) NowTick() int64 {
	c := g.current()
	return int64(c.ticker.div(c.now()))
}

// LeadTicks returns how many ticks the generator may lead.
func (g *Generator) LeadTicks() int64 { return int64(g.lead) }

// Shares reports whether two generators draw from the same state.
func (g *Generator) Shares(other *Generator) bool { return g.core == other.core }

// Divide divides with a divider.
func Divide(n, d uint64) uint64 { return newDivider(d).div(n) }

// LimitToIssued lets no ID be issued that is not issued yet.
func (g *Generator) LimitToIssued() {
	g.core.last = g.core.state.Load()
	g.core.limit.Store(g.core.last)
}
