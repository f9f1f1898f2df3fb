package audit

import (
	"cmp"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// masks are the bits of a layout. Bits that are neither time nor sequence name the generator: the worker, with a
// datacenter if there is one.
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
	if m.sequence > m.time { // such a sequence does not begin at 0
		m.order = m.time
	}
	return m
}

// ascend reports whether the IDs of each generator ascend by time. They do not if the sequence is above a bit of it.
func (m masks) ascend() bool { return m.sequence < m.time&-m.time }

// compare orders IDs by time, and within a tick by number.
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

// IsSmall reports whether a number is more likely from a counter, as databases have them, than an ID. As an ID it would
// be of the first minute of the layout, when no program used the layout yet.
func IsSmall(l snowflake.Layout, id snowflake.ID) bool {
	return l.Time(id).Before(l.Epoch().Add(time.Minute))
}

// Finding is something that should not be.
type Finding struct {
	Kind    string       `json:"kind"`
	Count   int64        `json:"count"`
	Example snowflake.ID `json:"example,omitzero"`
	Workers []string     `json:"workers,omitempty"` // the first ten
	Shows   string       `json:"shows"`
	Do      string       `json:"do"`
}

func (f *Finding) add(n int64, example snowflake.ID, workers ...string) {
	f.Count += n
	f.Example = cmp.Or(f.Example, example)
	f.Workers = append(f.Workers, workers...)
}

// maxGenerators bounds the memory: with a wrong layout each ID can have another generator.
const maxGenerators = 1 << 16

// generator is what is known of one generator.
type generator struct {
	ids                [2]int64     // by database
	first, last        snowflake.ID // by time
	greatest           snowflake.ID
	inTick, inSecond   int64
	perTick, perSecond int64 // the greatest of these

	// In the order of issue: the greatest ID, the ID from which the others climb back to it, and the first descent.
	high, low, descent snowflake.ID
	descents           int64
	longest            time.Duration
}

// follow takes the IDs in the order of issue. A clock that was set back leaves one descent, from which the IDs climb
// back to where they were. Two generators whose clocks differ leave many: the IDs change between two ascending streams.
func (g *generator) follow(m *masks, id snowflake.ID, slack time.Duration) {
	at := id & m.order
	if at >= g.high {
		g.high, g.low = at, at
		return
	}
	if at >= g.low {
		g.low = at
		return
	}

	back := m.Time(g.high).Sub(m.Time(at))
	wraps := back == 0 && m.seq(g.high)-m.seq(at) > m.MaxSequence()/2 // a sequence that counts on from tick to tick
	if back < slack || wraps {
		return
	}

	isFirst := g.low == g.high
	isLower := m.Time(g.low).Sub(m.Time(at)) >= max(slack, 1)
	if isFirst || isLower {
		g.descents++
		g.descent, g.longest, g.low = cmp.Or(g.descent, id), max(g.longest, back), at
	}
}

// add takes different IDs by time.
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

// tally counts IDs.
type tally struct {
	masks
	now, since time.Time
	slack      time.Duration
	generators map[snowflake.ID]*generator

	ids                                      [2]int64 // by database
	last, greatest                           snowflake.ID
	lastOf                                   int // the database
	above53, untracked                       int64
	twice, both, impossible, counter, future Finding
	rounding
}

func (t *tally) ahead(id snowflake.ID) bool { return t.Time(id).After(t.now.Add(snowflake.MaxLead)) }

// of returns the generator of an ID, or nil if there are too many.
func (t *tally) of(id snowflake.ID) *generator {
	g := t.generators[t.generator(id)]
	if g == nil && len(t.generators) < maxGenerators {
		g = &generator{}
		t.generators[t.generator(id)] = g
	}
	return g
}

// follow takes the IDs in the order of issue.
func (t *tally) follow(id snowflake.ID) {
	if !t.possible(id) || IsSmall(t.Layout, id) {
		return
	}
	if t.Time(id).Before(t.since) || t.ahead(id) {
		return
	}
	if g := t.of(id); g != nil {
		g.follow(&t.masks, id, t.slack)
	}
}

// add takes the IDs of both databases in the order of masks.compare. If masks.ascend, ascending order is
// enough.
func (t *tally) add(id snowflake.ID, database int) {
	switch {
	case !t.possible(id):
		t.impossible.add(1, id)
		return
	case t.Time(id).Before(t.since):
		return
	case IsSmall(t.Layout, id):
		t.counter.add(1, id)
		return
	case id == t.last && database != t.lastOf:
		t.both.add(1, id)
	case id == t.last:
		t.twice.add(1, id)
	}

	if id >= 1<<53 {
		t.above53++
	}
	if t.ahead(id) {
		t.future.add(1, id)
	}

	t.ids[database]++
	if g := t.of(id); g == nil {
		t.untracked++
	} else {
		g.ids[database]++
		if id != g.last {
			t.rounding.add(&t.masks, id)
			g.add(&t.masks, id)
		}
	}

	t.last, t.lastOf, t.greatest = id, database, max(t.greatest, id)
}

// rounding counts IDs that end as rounded numbers do. Those with twelve zero bits at the end say nothing: that is a
// sequence of 0.
type rounding struct {
	long     int64   // IDs of 18 and 19 digits
	decimal  Finding // of these, IDs with 15 digits before zeros
	floating Finding // of these, IDs that a float64 can hold, or that JavaScript prints
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

	isFloat := id%unit == 0 || snowflake.ID(float64(id)) == id
	if isFloat && m.shift == 0 { // the lowest bits are the sequence: workers are often round
		r.floating.add(1, id)
	}
}

// wasRounded returns the IDs that were rounded, and by what. By chance at most one in 125 looks rounded to decimal
// digits, and one in 4 looks like a float64.
func (t *tally) wasRounded() (found Finding, by string) {
	switch {
	case t.decimal.Count > t.long/50+10:
		return t.decimal, "15 digits, as spreadsheets have them"
	case t.floating.Count > t.long/2+10:
		return t.floating, "a float64, as numbers in JavaScript are"
	}
	return Finding{}, ""
}
