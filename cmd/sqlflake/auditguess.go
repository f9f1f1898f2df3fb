package main

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// libraries are the defaults of widely used ones that no preset has.
var libraries = [][2]string{
	{"bwmarrin", "epoch=2010-11-04T01:42:54.657Z tick=1ms time:41 worker:10 sequence:12"},
	{"sonyflake 2", "epoch=2025-01-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16"},
	{"godruoyi", "epoch=2008-11-10T23:00:00Z tick=1ms time:41 worker:10 sequence:12"},
	{"yitter", "epoch=2020-02-19T18:20:02Z tick=1ms time:51 worker:6 sequence:6"},
}

// guessed is the layout of an audit, and why.
type guessed struct {
	Name   string   `json:"name,omitempty"`
	Layout string   `json:"layout"` // empty if there are no IDs to guess from
	Guess  bool     `json:"guessed"`
	Why    string   `json:"why,omitempty"`
	Fits   bool     `json:"fits_well"`
	Others []string `json:"could_also_be,omitempty"`
	unsure bool     // some of them have another sequence
	old    bool     // nothing but the age of the latest IDs speaks against it

	layout     snowflake.Layout
	first      int64 // sequence of a tick
	latest     time.Time
	generators int
	odd        float64 // share of the bits of sequences that neither the first nor the one before explains
	cost       float64 // the bits of an ID that the layout leaves unexplained
}

// candidates are the presets, and those of libraries.
func candidates() (all []guessed) {
	for _, name := range snowflake.Presets() {
		all = append(all, guessed{Name: name, layout: snowflake.MustPreset(name)})
	}
	for _, other := range libraries {
		layout, _ := snowflake.ParseLayout(other[1]) // a test reads them
		all = append(all, guessed{Name: other[0], layout: layout})
	}
	all[len(all)-1].first = 5 // yitter keeps 0 to 4 for steps back
	return all
}

// guess returns the layout that leaves the least of the sample unexplained: the latest ID is young, sequences are near
// the first, or near the ID before, and there are few workers.
func guess(sample []snowflake.ID, now time.Time) guessed {
	if len(sample) == 0 {
		return guessed{layout: snowflake.Default()}
	}
	slices.Sort(sample)
	all, rounded := candidates(), areFloats(sample)
	for i := range all {
		all[i].fit(sample, now, rounded)
	}
	slices.SortStableFunc(all, func(a, b guessed) int { return cmp.Compare(a.cost, b.cost) })
	g := all[0]
	g.Layout, g.Guess = g.layout.String(), true
	if math.IsInf(g.cost, 1) {
		g.Name, g.Why = "", "none of the known layouts can have issued these IDs"
		return g
	}
	g.Why = fmt.Sprintf("it explains most: the latest IDs are of %s, and %.0f%% of the bits of sequences follow from those before",
		g.latest.Format(time.DateOnly), 100*(1-g.odd))
	young := now.Sub(g.latest) < 30*24*time.Hour
	g.old = !young && g.odd < 0.35 && g.latest.Sub(g.layout.Epoch()) >= 24*time.Hour // the numbers of a counter are below
	for _, other := range all[1:] {
		if other.cost < g.cost+3 {
			g.Others = append(g.Others, other.Name)
			g.unsure = g.unsure || masksOf(other.layout).sequence != masksOf(g.layout).sequence
		}
	}
	// Sequences that begin at random do not follow, but a wrong layout has about as many generators as IDs.
	g.Fits = young && (g.odd < 0.45 || g.generators <= 8 && len(sample) >= 8*g.generators)
	return g
}

// couldBe reports whether the IDs may as well have the other layout.
func (g *guessed) couldBe(other string) bool {
	return !g.Guess || g.Name == "" || g.Name == other || slices.Contains(g.Others, other)
}

// areFloats reports whether all IDs are numbers of float64, and use its 53 bits: their sequences say nothing then.
func areFloats(sample []snowflake.ID) (used bool) {
	for _, id := range sample {
		zeros, lost := bits.TrailingZeros64(uint64(id)), bits.Len64(uint64(id))-53
		if zeros < lost {
			return false
		}
		used = used || lost > 0 && zeros == lost
	}
	return used
}

func (g *guessed) fit(sample []snowflake.ID, now time.Time, rounded bool) {
	m, last, odd, right := masksOf(g.layout), map[snowflake.ID]int64{}, 0., 0.
	size, end := math.Log2(float64(m.MaxSequence()+1)), now.AddDate(1, 0, 0) // a clock may be wrong
	for _, id := range sample {
		if !m.possible(id) || m.Time(id).After(end) {
			continue
		}
		generator, seq := m.generator(id), m.seq(id)
		distance := max(seq-g.first, g.first-seq) + 1
		if before, seen := last[generator]; seen && seq != before {
			distance = min(distance, (seq-before)&m.MaxSequence())
		}
		if !rounded {
			odd += math.Log2(float64(distance)) / size
		}
		last[generator] = seq
		right++
	}
	if g.cost = math.Inf(1); right > 0.95*float64(len(sample)) {
		g.odd, g.generators = odd/right, len(last)
		g.latest = m.Time(sample[len(sample)-1-len(sample)/100]) // but for a few that are wrong
		// Clustered explains a short sample of many others with one worker, wide the workers up to 3, seconds a date.
		g.cost = g.odd*size + math.Log2(float64(len(last))) + math.Log2(1+now.Sub(g.latest).Abs().Hours()/24) +
			map[string]float64{"clustered": 6, "wide": 2, "seconds": 2}[g.Name]
	}
}

func (g *guessed) String() string {
	text := g.Layout
	switch {
	case g.Layout == "":
		text = "unknown: there are no IDs to guess it from"
	case g.Guess:
		text = g.Name + ", " + text + "\nguessed: " + g.Why
	}
	if len(g.Others) > 0 {
		text += "\ncould also be: " + strings.Join(g.Others, ", ")
	}
	return text
}
