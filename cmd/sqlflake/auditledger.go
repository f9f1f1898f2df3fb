package main

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// masks are the bits of a layout. What is neither time nor sequence is the generator: the worker, with a datacenter if
// there is one.
type masks struct {
	snowflake.Layout
	time, sequence snowflake.ID
	shift          int // of the sequence
}

func masksOf(l snowflake.Layout) masks {
	m, at := masks{Layout: l}, l.Bits()
	for _, f := range l.Fields() {
		at -= f.Bits
		switch f.Name {
		case snowflake.FieldTime:
			m.time |= (1<<f.Bits - 1) << at
		case snowflake.FieldSequence:
			m.sequence, m.shift = (1<<f.Bits-1)<<at, at
		}
	}
	return m
}

func (m masks) generator(id snowflake.ID) snowflake.ID { return id &^ (m.time | m.sequence) }

func (m masks) possible(id snowflake.ID) bool { return id > 0 && uint64(id)>>m.Bits() == 0 }

func (m masks) seq(id snowflake.ID) int64 { return int64(id & m.sequence >> m.shift) }

// name returns the fields of a generator: "3", or "datacenter=1 worker=3".
func (m masks) name(generator snowflake.ID) string {
	var parts []string
	for _, f := range m.Fields() {
		if f.Name != snowflake.FieldTime && f.Name != snowflake.FieldSequence {
			n, _ := m.Field(generator, f.Name) // it has it
			parts = append(parts, fmt.Sprintf("%s=%d", f.Name, n))
		}
	}
	if len(parts) == 1 {
		_, number, _ := strings.Cut(parts[0], "=")
		return number
	}
	return strings.Join(parts, " ")
}

// maxGenerators bounds the memory: with a wrong layout each ID can have another one.
const maxGenerators = 1 << 16

// generator is what is known of one.
type generator struct {
	ids                [2]int64 // by database
	first, last        snowflake.ID
	inTick, inSecond   int64
	perTick, perSecond int64    // the greatest of these
	pairs, near        int64    // neighbours in a tick, and those of which one sequence follows the other
	wide               [3]int64 // those that are apart by more than a quarter, a half, three quarters of all sequences
	split              snowflake.ID

	high, low, descent snowflake.ID // in the order of issue: the greatest, where the IDs climb back to it, the first below
	descents           int64
	longest            time.Duration
}

// follow takes the IDs in the order of issue. A clock that was set back leaves one descent, from which they climb back to
// where they were. Two generators whose clocks differ leave many: the IDs change between two ascending streams.
func (g *generator) follow(m *masks, id snowflake.ID, slack time.Duration) {
	at := id & (m.time | m.sequence) // in these bits the IDs of one generator ascend
	back := m.Time(g.high).Sub(m.Time(at))
	wraps := back == 0 && m.seq(g.high)-m.seq(at) > m.MaxSequence()/2 // a sequence that counts on from tick to tick
	switch {
	case at >= g.high:
		g.high, g.low = at, at
	case at >= g.low:
		g.low = at
	case back >= slack && !wraps && (g.low == g.high || m.Time(g.low).Sub(m.Time(at)) >= max(slack, 1)):
		g.descents++
		g.descent, g.longest, g.low = cmp.Or(g.descent, id), max(g.longest, back), at
	}
}

// ledger counts IDs.
type ledger struct {
	masks
	now, since time.Time
	slack      time.Duration
	generators map[snowflake.ID]*generator

	ids                                      [2]int64 // by database
	last                                     snowflake.ID
	lastOf                                   int
	above53, earliest, untracked             int64
	twice, both, impossible, future, rounded finding
	halves                                   float64 // how many of rounded there are without rounding, about
}

func (l *ledger) ahead(id snowflake.ID) bool { return l.Time(id).After(l.now.Add(snowflake.MaxLead)) }

// of returns the generator of an ID, or nil if there are too many.
func (l *ledger) of(id snowflake.ID) *generator {
	g := l.generators[l.generator(id)]
	if g == nil && len(l.generators) < maxGenerators {
		g = &generator{}
		l.generators[l.generator(id)] = g
	}
	return g
}

// follow takes the IDs in the order of issue.
func (l *ledger) follow(id snowflake.ID) {
	if !l.possible(id) || l.Time(id).Before(l.since) || l.ahead(id) {
		return
	}
	if g := l.of(id); g != nil {
		g.follow(&l.masks, id, l.slack)
	}
}

// add takes the IDs of both databases in ascending order.
func (l *ledger) add(id snowflake.ID, database int) {
	switch {
	case !l.possible(id):
		l.impossible.add(1, id)
		return
	case l.Time(id).Before(l.since):
		return
	case id == l.last && database != l.lastOf:
		l.both.add(1, id)
	case id == l.last:
		l.twice.add(1, id)
	}
	if id >= 1<<53 {
		l.above53++
	}
	if l.Time(id).Before(l.Epoch().Add(time.Second)) {
		l.earliest++
	}
	if l.ahead(id) {
		l.future.add(1, id)
	}
	l.ids[database]++
	if g := l.of(id); g == nil {
		l.untracked++
	} else if g.ids[database]++; id != g.last {
		l.round(id)
		g.add(&l.masks, id)
	}
	l.last, l.lastOf = id, database
}

func (g *generator) add(m *masks, id snowflake.ID) {
	g.first = cmp.Or(g.first, id)
	if id&m.time != g.last&m.time {
		g.inTick = 0
	}
	if m.Time(id).Unix() != m.Time(g.last).Unix() {
		g.inSecond = 0
	}
	g.inTick++
	g.inSecond++
	g.perTick, g.perSecond = max(g.perTick, g.inTick), max(g.perSecond, g.inSecond)
	if gap := m.seq(id) - m.seq(g.last); g.inTick > 1 {
		g.pairs++
		if gap == 1 {
			g.near++
		}
		for i := range g.wide {
			if gap > (m.MaxSequence()+1)/4*int64(i+1) {
				g.wide[i]++
				g.split = id
			}
		}
	}
	g.last = id
}

// round looks for IDs that were a float64 on their way, whose lowest bits are 0. Others have such bits, too, and all with
// a sequence of 0, which do not count. But of others as many have a 1 before the zeros, even if a table has every second
// ID of a generator.
func (l *ledger) round(id snowflake.ID) {
	lost := bits.Len64(uint64(id)) - 53
	if lost <= 0 || l.shift > 0 || id&l.sequence == 0 {
		return
	}
	switch id & (1<<lost - 1) {
	case 0:
		l.rounded.add(1, id)
	case 1 << (lost - 1):
		l.halves++
	}
}

// wasRounded returns them if they are more than those, by six standard deviations; or with the worker in the lowest bits
// all IDs, if all workers are multiples, of which the chance is 1 in 4,096. People choose 0 and powers of two, such as
// the first of a share, so these count for nothing.
func (l *ledger) wasRounded() (found finding) {
	if l.shift == 0 {
		if float64(l.rounded.Count) > l.halves+6*math.Sqrt(2*l.halves)+15 {
			found = l.rounded
		}
		return found
	}
	lost, random := bits.Len64(uint64(l.last))-53, 0
	for worker := range l.generators {
		if lost <= 0 || worker&(1<<min(lost, l.shift)-1) != 0 {
			return found
		}
		if worker&(worker-1) != 0 {
			random += lost
		}
	}
	if random >= 12 {
		found.add(l.ids[0]+l.ids[1], l.last)
	}
	return found
}

// mixed reports whether the sequences within ticks are those of two generators, of which one does not start at 0. Rows
// that were deleted, and other tables with IDs of the same generator, leave gaps, too. But those are short, or of the
// size of a batch, and all workers have them. Here they are of all sizes, and far more often than with the other workers.
// If both generators start at 0, nothing is to be seen but equal IDs.
func (l *ledger) mixed(g *generator) bool {
	w := g.wide
	if l.MaxSequence() < 1023 || w[0] < 10 || w[0]-w[1] < 3 || w[1]-w[2] < 3 || w[2] < 1 {
		return false
	}
	var pairs, wide int64
	for _, other := range l.generators {
		if other != g {
			pairs, wide = pairs+other.pairs, wide+other.wide[0]
		}
	}
	if pairs < 20 { // there is nothing to compare with
		return g.near >= 10 && g.near*2 >= w[0]
	}
	return float64(w[0])/float64(g.pairs) > 5*float64(wide+1)/float64(pairs)
}
