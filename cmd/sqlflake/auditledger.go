package main

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// masks are the bits of a layout. What is neither time nor sequence is the generator: the worker, with a datacenter if
// there is one.
type masks struct {
	snowflake.Layout
	time, sequence snowflake.ID
	order          snowflake.ID // in these bits the IDs of one generator ascend
	shift          int          // of the sequence
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

	m.order = m.time | m.sequence
	if m.sequence > m.time { // it does not begin at 0 then
		m.order = m.time
	}
	return m
}

// ascend reports whether the IDs of each generator ascend by time. They do not if the sequence is above a bit of it.
func (m masks) ascend() bool { return m.sequence < m.time&-m.time }

// compare orders IDs by time, and those of one tick by number.
func (m masks) compare(x, y snowflake.ID) int {
	return cmp.Or(cmp.Compare(x&m.time, y&m.time), cmp.Compare(x, y))
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
	ids                [2]int64     // by database
	first, last        snowflake.ID // by time
	greatest           snowflake.ID
	inTick, inSecond   int64
	perTick, perSecond int64 // the greatest of these

	high, low, descent snowflake.ID // in the order of issue: the greatest, where the IDs climb back to it, the first below
	descents           int64
	longest            time.Duration

	compared, apart int64 // with the column of --by: IDs, and those whose time is another one, with the last
	example         snowflake.ID
	exampleBy       time.Time
}

// follow takes the IDs in the order of issue. A clock that was set back leaves one descent, from which they climb back to
// where they were. Two generators whose clocks differ leave many: the IDs change between two ascending streams.
func (g *generator) follow(m *masks, id snowflake.ID, slack time.Duration) {
	at := id & m.order
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
	now, since       time.Time
	slack, tolerance time.Duration
	generators       map[snowflake.ID]*generator

	ids                                      [2]int64 // by database
	last, greatest                           snowflake.ID
	lastOf                                   int
	above53, untracked                       int64
	twice, both, impossible, counter, future finding
	rounding
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

// follow takes the IDs in the order of issue, with the times of their rows.
func (l *ledger) follow(id, unixMilli snowflake.ID) {
	if !l.possible(id) || isSmall(l.Layout, id) || l.Time(id).Before(l.since) || l.ahead(id) {
		return
	}
	g := l.of(id)
	if g == nil {
		return
	}

	g.follow(&l.masks, id, l.slack)
	if unixMilli != noTime {
		g.compared++
		if by := time.UnixMilli(int64(unixMilli)); by.Sub(l.Time(id)).Abs() > l.tolerance {
			g.apart++
			g.example, g.exampleBy = id, by
		}
	}
}

// add takes the IDs of both databases in the order of masks.compare, or in ascending order if those of each generator
// ascend by time.
func (l *ledger) add(id snowflake.ID, database int) {
	switch {
	case !l.possible(id):
		l.impossible.add(1, id)
		return
	case l.Time(id).Before(l.since):
		return
	case isSmall(l.Layout, id):
		l.counter.add(1, id)
		return
	case id == l.last && database != l.lastOf:
		l.both.add(1, id)
	case id == l.last:
		l.twice.add(1, id)
	}

	if id >= 1<<53 {
		l.above53++
	}
	if l.ahead(id) {
		l.future.add(1, id)
	}
	l.ids[database]++
	if g := l.of(id); g == nil {
		l.untracked++
	} else if g.ids[database]++; id != g.last {
		l.rounding.add(&l.masks, id)
		g.add(&l.masks, id)
	}
	l.last, l.lastOf, l.greatest = id, database, max(l.greatest, id)
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
	g.last, g.greatest = id, max(g.greatest, id)
}

// rounding counts IDs that end as rounded numbers do. Those with twelve zero bits at the end say nothing: that is a
// sequence of 0.
type rounding struct {
	long     int64   // IDs of 18 and 19 digits
	decimal  finding // of these, those with 15 digits before zeros
	floating finding // those that a float64 can hold, or that JavaScript prints
}

func (r *rounding) add(m *masks, id snowflake.ID) {
	if id < 1e17 || bits.TrailingZeros64(uint64(id)) >= 12 {
		return
	}

	unit := snowflake.ID(10)
	if id >= 1e18 {
		unit = 100
	}
	r.long++
	if id%(100*unit) == 0 {
		r.decimal.add(1, id)
	}
	if m.shift == 0 && (id%unit == 0 || snowflake.ID(float64(id)) == id) { // shift: workers are often round
		r.floating.add(1, id)
	}
}

const javaScript = "a float64, as numbers in JavaScript are"

// wasRounded returns the IDs that were rounded, and by what. By chance at most one in 125 is so in decimal digits, and
// one in 4 as a float64.
func (l *ledger) wasRounded() (found finding, by string) {
	switch {
	case l.decimal.Count > l.long/50+10:
		return l.decimal, "15 digits, as spreadsheets have them"
	case l.floating.Count > l.long/2+10:
		return l.floating, javaScript
	}
	return l.roundedWorkers(), javaScript
}

// roundedWorkers is for layouts with the worker in the lowest bits, where a float64 makes it another one: all workers
// are round, or several have some of the IDs of another one. People choose powers of two, such as the first of a share.
func (l *ledger) roundedWorkers() (found finding) {
	sources := map[snowflake.ID]int64{} // the most IDs of a worker that becomes this one
	for worker, g := range l.generators {
		if to := l.generator(snowflake.ID(float64(g.greatest))); to != worker {
			sources[to] = max(sources[to], g.ids[0]+g.ids[1])
		}
	}

	for _, worker := range slices.Sorted(maps.Keys(l.generators)) {
		g := l.generators[worker]
		n := g.ids[0] + g.ids[1]
		isFew := len(sources) == 0 || 2*n < sources[worker]
		if isFew && worker&(worker-1) != 0 {
			found.add(n, g.greatest, l.name(worker))
		}
	}
	lost := min(bits.Len64(uint64(l.greatest))-53, l.shift)
	if isChance := len(found.Workers)*lost < 12 || len(found.Workers)*8 < len(l.generators); isChance {
		return finding{}
	}
	return found
}
