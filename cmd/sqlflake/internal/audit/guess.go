package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Guess is the layout of an audit, and why.
type Guess struct {
	Name    string   `json:"name,omitempty"`
	Layout  string   `json:"layout"` // empty if there are no IDs to guess from
	Guessed bool     `json:"guessed"`
	Why     string   `json:"why,omitempty"`
	Fits    bool     `json:"fits_well"`
	Others  []string `json:"could_also_be,omitempty"`

	layout     snowflake.Layout
	first      int64 // the sequence at the start of a tick
	latest     time.Time
	generators int
	odd        float64 // share of the bits of sequences that neither the first nor the one before explains
	bits       float64 // bits of an ID that the layout leaves unexplained
	age        float64 // the same for the age of the latest IDs
}

// candidates returns a Guess for each preset, not fitted to a sample yet.
func candidates() (all []Guess) {
	for _, name := range snowflake.Presets() {
		g := Guess{Name: name, layout: snowflake.MustPreset(name)}
		if name == "yitter" {
			g.first = 5 // it reserves 0 to 4 for a clock that is set back
		}
		all = append(all, g)
	}
	return all
}

// guess returns the layout that leaves the least of the sample unexplained: the latest ID is young, sequences are near
// the first, or near the ID before, and there are few workers.
func guess(sample []snowflake.ID, now time.Time) Guess {
	// Numbers of a counter would be of the first day in any layout.
	sample = slices.DeleteFunc(sample, func(id snowflake.ID) bool { return IsSmall(snowflake.Default(), id) })
	if len(sample) == 0 {
		return Guess{layout: snowflake.Default()}
	}
	slices.Sort(sample)

	all := candidates()
	for i := range all {
		all[i].fit(sample, now)
	}
	slices.SortStableFunc(all, func(a, b Guess) int { return cmp.Compare(a.bits+a.age, b.bits+b.age) })

	g := all[0]
	g.Layout, g.Guessed = g.layout.String(), true
	if math.IsInf(g.bits, 1) {
		g.Name, g.Why = "", "none of the known layouts can have issued these IDs"
		return g
	}

	g.Why = fmt.Sprintf("with it the latest IDs are of %s, and %.0f%% of the bits of sequences count up",
		g.latest.Format(time.DateOnly), 100*(1-g.odd))
	isYoung := now.Sub(g.latest) < 30*24*time.Hour
	for _, other := range all[1:] {
		more := other.bits - g.bits
		if isYoung {
			more += other.age - g.age
		}
		if more < 3 { // if none is young, any layout may be the one of a table at rest
			g.Others = append(g.Others, other.Name)
		}
	}

	// Sequences that begin at random do not follow, but a wrong layout has about as many generators as IDs.
	hasFewGenerators := g.generators <= 8 && len(sample) >= 8*g.generators
	g.Fits = isYoung && (g.odd < 0.45 || hasFewGenerators)
	return g
}

// couldBe reports whether the IDs may as well have the other layout.
func (g *Guess) couldBe(other string) bool {
	if !g.Guessed || g.Name == "" {
		return true
	}
	return g.Name == other || slices.Contains(g.Others, other)
}

// fit computes how many bits of the IDs the layout leaves unexplained.
func (g *Guess) fit(sample []snowflake.ID, now time.Time) {
	m := masksOf(g.layout)
	size := math.Log2(float64(m.MaxSequence() + 1))
	end := now.AddDate(1, 0, 0) // a clock may be wrong

	last, odd := map[snowflake.ID]int64{}, 0.
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
	g.bits = math.Inf(1)
	if n == 0 || 20*n <= 19*len(sample) {
		return
	}

	g.odd, g.generators = odd/float64(n), len(last)
	slices.SortFunc(right, func(a, b snowflake.ID) int { return cmp.Compare(a&m.time, b&m.time) })
	g.latest = m.Time(right[n-1-n/100]) // but for a few that are wrong
	g.age = math.Log2(1 + now.Sub(g.latest).Abs().Hours()/24)
	if g.latest.After(now) { // a wrong layout is likelier than IDs from the future
		g.age *= 3
	}

	// Clustered explains a short sample of many others with one worker, wide the workers up to 3, seconds a date.
	g.bits = g.odd*size + math.Log2(float64(len(last))) +
		map[string]float64{"clustered": 6, "wide": 2, "seconds": 2}[g.Name]
}

func (g *Guess) String() string {
	text := g.Layout
	switch {
	case g.Layout == "":
		text = "unknown: there are no IDs to guess it from"
	case g.Guessed:
		text = g.Name + ", " + text + "\nguessed: " + g.Why
	}

	if len(g.Others) > 0 {
		text += "\ncould also be: " + strings.Join(g.Others, ", ")
	}
	return text
}
