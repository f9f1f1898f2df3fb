// Package audit finds faults of generators in the IDs that they issued. It takes rows and returns a report. It opens no
// database, and prints nothing.
package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Options say what is known of the IDs.
type Options struct {
	Now    func() time.Time
	Layout snowflake.Layout // the zero value: the audit guesses it
	Since  time.Time        // older IDs are left out

	By     string // the name of a column with the order of issue, if there is one
	Issued bool   // the rows come in the order of issue
	Two    bool   // a second database is compared with the first one

	Slack      time.Duration // the longest descent that is normal
	SlackGiven bool          // a person has chosen it
}

// Source is the rows of one database, or of another input.
type Source struct {
	Rows   func(take func(Row)) error
	Sorted bool // the IDs ascend

	Local bool // with Options.By: that column can have local times
}

// Row is a value of the column with the IDs.
type Row struct {
	ID    snowflake.ID
	Null  bool
	Fault error // why the value is not an ID

	Unordered bool // with Options.By: the row has no value in that column
}

// Audit takes the rows of one database or two.
type Audit struct {
	opts Options
	tally

	guess  Guess
	other  string // the layout that fits one of two databases better
	shared Finding
	noZone bool // the times of the rows may be local, so the slack is greater

	sources             int
	read, nulls, notIDs int64
	fault               error             // of the first value that is not an ID
	lists               [2][]snowflake.ID // by database; in the order of issue, if it is known
	unordered           []snowflake.ID    // IDs of rows without a value in the column By
}

// New returns an audit without rows.
func New(o Options) *Audit {
	return &Audit{
		opts: o,
		tally: tally{
			masks: masksOf(o.Layout), generators: map[snowflake.ID]*generator{},
			now: o.Now(), since: o.Since, slack: o.Slack,
		},
		guess: Guess{Layout: o.Layout.String(), Fits: true},
	}
}

// Read takes the rows of the first database. The second call takes the rows of the second one.
func (a *Audit) Read(s Source) error {
	database := a.sources
	a.sources++

	add := func(id snowflake.ID) { a.lists[database] = append(a.lists[database], id) }
	if a.countsAtOnce(s) {
		a.now = a.opts.Now() // the source has no ID that is issued later
		add = func(id snowflake.ID) { a.add(id, database) }
	}
	a.trustTimes(s)

	return s.Rows(func(row Row) { a.take(row, add) })
}

// countsAtOnce reports whether the IDs come in the order in which they are counted. Otherwise, and without a layout,
// they are kept. So are the IDs of two databases: a server would not wait until the other one has been read.
func (a *Audit) countsAtOnce(s Source) bool {
	if a.opts.Two || !a.isGiven() {
		return false
	}
	return s.Sorted && a.ascend()
}

// isGiven reports whether the layout is known, not guessed.
func (a *Audit) isGiven() bool { return a.opts.Layout != snowflake.Layout{} }

// trustTimes allows for local times, whose order is wrong by one hour when clocks are set back in autumn.
func (a *Audit) trustTimes(s Source) {
	a.noZone = s.Local && !a.opts.SlackGiven
	if a.noZone {
		a.slack = max(a.slack, time.Hour+snowflake.MaxLead)
	}
}

// take counts a row, and passes on its ID.
func (a *Audit) take(row Row, add func(snowflake.ID)) {
	a.read++

	switch {
	case row.Null:
		a.nulls++
	case row.Fault != nil:
		a.notIDs++
		a.fault = cmp.Or(a.fault, row.Fault)
	case row.Unordered:
		a.unordered = append(a.unordered, row.ID)
	default:
		add(row.ID)
	}
}

// chooseLayout guesses the layout, which has to fit both databases.
func (a *Audit) chooseLayout() {
	samples := [2][]snowflake.ID{append(sample(a.lists[0]), sample(a.unordered)...), sample(a.lists[1])}
	a.guess = guess(slices.Concat(samples[:]...), a.now)
	a.masks = masksOf(a.guess.layout)

	for _, sample := range samples {
		if own := guess(sample, a.now); !own.couldBe(a.guess.Name) {
			a.other = own.Layout
		}
	}
}

// followAll takes the IDs in the order of issue.
func (a *Audit) followAll() {
	for _, id := range a.lists[0] {
		a.follow(id)
	}
}

// addAll counts the IDs of both databases by time. Of equal ones the first database comes first.
func (a *Audit) addAll(ctx context.Context) error {
	x, y := a.lists[0], a.lists[1]
	slices.SortFunc(x, a.compare)
	slices.SortFunc(y, a.compare)

	for len(x)+len(y) > 0 && ctx.Err() == nil {
		isSecond := len(x) == 0 || len(y) > 0 && a.compare(x[0], y[0]) > 0
		if isSecond {
			a.add(y[0], 1)
			y = y[1:]
		} else {
			a.add(x[0], 0)
			x = x[1:]
		}
	}
	return ctx.Err()
}

// sample returns about 65,536 IDs at most, in runs of 1,024 that were added one after the other.
func sample(ids []snowflake.ID) (some []snowflake.ID) {
	const run, most = 1024, 65_536
	every := len(ids)/most + 1

	for i := 0; i < len(ids); i += run * every {
		some = append(some, ids[i:min(i+run, len(ids))]...)
	}
	return some
}

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
		first := map[string]int64{"yitter": 5}[name] // it reserves 0 to 4 for a clock that is set back
		all = append(all, Guess{Name: name, layout: snowflake.MustPreset(name), first: first})
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
