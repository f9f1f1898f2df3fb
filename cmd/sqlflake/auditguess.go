package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// guessed is the layout of an audit, and why.
type guessed struct {
	Name   string   `json:"name,omitempty"`
	Layout string   `json:"layout"` // empty if there are no IDs to guess from
	Guess  bool     `json:"guessed"`
	Why    string   `json:"why,omitempty"`
	Fits   bool     `json:"fits_well"`
	Others []string `json:"could_also_be,omitempty"`

	layout     snowflake.Layout
	first      int64 // sequence of a tick
	latest     time.Time
	generators int
	odd        float64 // share of the bits of sequences that neither the first nor the one before explains
	bits, age  float64 // the bits of an ID that the layout leaves unexplained, and those of the age of the latest IDs
}

// candidates are the presets.
func candidates() (all []guessed) {
	for _, name := range snowflake.Presets() {
		g := guessed{Name: name, layout: snowflake.MustPreset(name)}
		if name == "yitter" {
			g.first = 5 // it keeps 0 to 4 for steps back
		}
		all = append(all, g)
	}
	return all
}

// guess returns the layout that leaves the least of the sample unexplained: the latest ID is young, sequences are near
// the first, or near the ID before, and there are few workers.
func guess(sample []snowflake.ID, now time.Time) guessed {
	// These are of a counter: also with the other layouts they were of the first day.
	sample = slices.DeleteFunc(sample, func(id snowflake.ID) bool { return isSmall(snowflake.Default(), id) })
	if len(sample) == 0 {
		return guessed{layout: snowflake.Default()}
	}
	slices.Sort(sample)

	all := candidates()
	for i := range all {
		all[i].fit(sample, now)
	}
	slices.SortStableFunc(all, func(a, b guessed) int { return cmp.Compare(a.bits+a.age, b.bits+b.age) })

	g := all[0]
	g.Layout, g.Guess = g.layout.String(), true
	if math.IsInf(g.bits, 1) {
		g.Name, g.Why = "", "none of the known layouts can have issued these IDs"
		return g
	}

	g.Why = fmt.Sprintf("with it the latest IDs are of %s, and %.0f%% of the bits of sequences count up",
		g.latest.Format(time.DateOnly), 100*(1-g.odd))
	young := now.Sub(g.latest) < 30*24*time.Hour
	for _, other := range all[1:] {
		more := other.bits - g.bits
		if young {
			more += other.age - g.age
		}
		if more < 3 { // if none is young, any layout may be the one of a table at rest
			g.Others = append(g.Others, other.Name)
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

func (g *guessed) fit(sample []snowflake.ID, now time.Time) {
	m, last, odd := masksOf(g.layout), map[snowflake.ID]int64{}, 0.
	size, end := math.Log2(float64(m.MaxSequence()+1)), now.AddDate(1, 0, 0) // a clock may be wrong
	var right []snowflake.ID
	for _, id := range sample {
		if !m.possible(id) || m.Time(id).After(end) {
			continue
		}

		generator, seq := m.generator(id), m.seq(id)
		distance := max(seq-g.first, g.first-seq) + 1
		if before, seen := last[generator]; seen && seq != before {
			distance = min(distance, (seq-before)&m.MaxSequence())
		}
		odd += math.Log2(float64(distance)) / size
		last[generator] = seq
		right = append(right, id)
	}

	n := len(right)
	if g.bits = math.Inf(1); n == 0 || 20*n <= 19*len(sample) {
		return
	}
	g.odd, g.generators = odd/float64(n), len(last)
	g.latest = m.Time(right[n-1-n/100]) // but for a few that are wrong
	g.age = math.Log2(1 + now.Sub(g.latest).Abs().Hours()/24)
	if g.latest.After(now) { // a wrong layout is more usual than so many IDs of the future
		g.age *= 3
	}
	// Clustered explains a short sample of many others with one worker, wide the workers up to 3, seconds a date.
	g.bits = g.odd*size + math.Log2(float64(len(last))) +
		map[string]float64{"clustered": 6, "wide": 2, "seconds": 2}[g.Name]
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
