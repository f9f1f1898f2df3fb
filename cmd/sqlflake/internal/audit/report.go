package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/timetext"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Report is what the IDs show. As JSON it is the output of audit --json.
type Report struct {
	Rows      int64            `json:"rows"`               // of both databases
	IDs       int64            `json:"ids"`                // that were examined
	IDsWith   int64            `json:"ids_with,omitempty"` // of these, IDs of the second database
	Layout    Guess            `json:"layout"`
	First     *timetext.Moment `json:"first"` // null without IDs
	Last      *timetext.Moment `json:"last"`
	Greatest  snowflake.ID     `json:"greatest_id,omitzero"`
	End       string           `json:"end,omitempty"` // of the layout
	YearsLeft float64          `json:"years_left,omitempty"`
	Above53   int64            `json:"above_2_53"`
	Workers   []Worker         `json:"workers"`
	Peak      *Worker          `json:"peak"` // the worker with the greatest rate
	Ceiling   float64          `json:"peak_share_of_ceiling"`
	Findings  []Finding        `json:"findings"`
	Notes     []string         `json:"notes"`

	Two bool `json:"-"` // there are two databases
}

// Worker is what a generator has issued.
type Worker struct {
	Worker    string          `json:"worker"`
	IDs       int64           `json:"ids"`
	IDsWith   int64           `json:"ids_with,omitempty"`
	First     timetext.Moment `json:"first"`
	Last      timetext.Moment `json:"last"`
	Greatest  snowflake.ID    `json:"greatest_id"`
	PerTick   int64           `json:"most_in_a_tick"`
	PerSecond int64           `json:"most_in_a_second"`
}

// Report counts the IDs that were kept, and returns what they show. It must be called once, after Read.
func (a *Audit) Report(ctx context.Context) (*Report, error) {
	a.now = a.opts.Now() // IDs that were issued during Read are not of the future
	if !a.isGiven() {
		a.chooseLayout()
	}

	if a.opts.Issued {
		a.followAll()
	}
	a.lists[0] = append(a.lists[0], a.unordered...)

	if err := a.addAll(ctx); err != nil {
		return nil, err
	}
	return a.report(), nil
}

func (a *Audit) report() *Report {
	r := &Report{
		Rows: a.read, IDs: a.ids[0] + a.ids[1], IDsWith: a.ids[1], Two: a.opts.Two,
		Layout: a.guess, Greatest: a.greatest, Above53: a.above53,
		Workers: []Worker{}, Findings: []Finding{}, Notes: []string{},
	}
	if a.guess.Layout != "" {
		r.End = a.End().Format(time.RFC3339Nano)
		r.YearsLeft = math.Round(timetext.Years(a.now, a.End())*10) / 10
	}

	a.addWorkers(r)
	a.addPeak(r)
	a.addFindings(r)
	a.addNotes(r)
	return r
}

// addWorkers adds what each generator has issued, the most IDs first, and the first and the last time of all IDs.
func (a *Audit) addWorkers(r *Report) {
	for _, key := range a.generatorKeys() {
		g := a.generators[key]
		w := Worker{
			Worker: a.name(key), IDs: g.ids[0] + g.ids[1], IDsWith: g.ids[1],
			First: timetext.Moment{Time: a.Time(g.first)}, Last: timetext.Moment{Time: a.Time(g.last)},
			Greatest: g.greatest, PerTick: g.perTick, PerSecond: g.perSecond,
		}
		r.Workers = append(r.Workers, w)

		if r.First == nil || w.First.Before(r.First.Time) {
			r.First = &w.First
		}
		if r.Last == nil || w.Last.After(r.Last.Time) {
			r.Last = &w.Last
		}
	}

	slices.SortStableFunc(r.Workers, func(x, y Worker) int { return cmp.Compare(y.IDs, x.IDs) })
}

// addPeak adds the worker with the most IDs in a second, and their share of what the layout allows.
func (a *Audit) addPeak(r *Report) {
	perTick := float64(a.MaxSequence() + 1)
	ceiling := max(perTick/a.Tick().Seconds(), perTick) // ticks can be longer than a second

	for i, w := range r.Workers {
		if r.Peak == nil || w.PerSecond > r.Peak.PerSecond {
			r.Peak, r.Ceiling = &r.Workers[i], float64(w.PerSecond)/ceiling
		}
	}
}

func (a *Audit) generatorKeys() []snowflake.ID { return slices.Sorted(maps.Keys(a.generators)) }

// What several findings say.
const (
	restart = "look for two processes with one worker number: a random number, a copied configuration, " +
		"a rolling restart. Leases give each process its own"
	late = "; or rows were inserted so much later than their ID was made, which a greater --slack leaves out"
)

// found adds a finding, if there is one.
func (r *Report) found(kind string, f Finding, shows, do string) {
	if f.Count == 0 {
		return
	}
	f.Kind, f.Shows, f.Do = kind, shows, do
	f.Workers = f.Workers[:min(len(f.Workers), 10)]
	r.Findings = append(r.Findings, f)
}

// addFindings adds the findings, the most general first.
func (a *Audit) addFindings(r *Report) {
	a.addDoubts(r)
	a.addValues(r)
	a.addRepeated(r)
	a.addGenerators(r)

	rounded, by := a.wasRounded()
	r.found("rounded", rounded, "IDs that end as rounded ones do, far more than by chance. They had "+by,
		"send IDs as strings, and import them as text. Who looks for the true ID does not find these rows")
}

// addDoubts adds what makes the other findings doubtful.
func (a *Audit) addDoubts(r *Report) {
	all := Finding{Count: r.IDs}
	switch {
	case a.other != "":
		r.found("layout", all, "a guess that does not fit both databases, of which one rather has "+a.other,
			"give --layout. If they have two, no comparison makes sense")
	case a.guess.Layout != "" && !a.guess.Fits:
		r.found("layout", all, "a guess that fits badly: its latest IDs are older than 30 days, so that nothing "+
			"proves its epoch, or its sequences do not count up. What else is said is wrong if the layout is",
			"give --layout")
	}

	hasEmpty := a.ids[0] == 0 || a.ids[1] == 0
	if a.opts.Two && hasEmpty {
		r.found("empty", Finding{Count: 1}, "a database without IDs, so nothing was compared",
			"is it the right database, table and --since?")
	}
}

// addValues adds values that no generator can have issued by now.
func (a *Audit) addValues(r *Report) {
	r.found("null", Finding{Count: a.nulls}, "rows without an ID", "find the writer that sets none")
	if a.notIDs > 0 {
		r.found("not_an_id", Finding{Count: a.notIDs}, "values that are no IDs. The first: "+a.fault.Error(),
			"is it the right column?")
	}
	r.found("impossible", a.impossible,
		"IDs that no generator of the layout issued: 0, negative, or above its greatest one",
		"is it the right layout? Otherwise find their writer")

	r.found("counter", a.counter, "small numbers, which as IDs were of the first minute of the layout: rather those "+
		"of a counter, such as auto-increment. All else is said without them",
		"find their writer: a default of the column, or an import")
	if a.future.Count > 0 {
		r.found("future", a.future,
			"IDs from more than 10 s after now, the latest from "+r.Last.Format(time.RFC3339Nano),
			"is it the right layout? Otherwise a clock was ahead: a new generator has to start above them")
	}
}

// addRepeated adds equal IDs.
func (a *Audit) addRepeated(r *Report) {
	r.found("duplicate", a.twice, "equal IDs: two generators have one worker, IDs were rounded by a float64 "+
		"(JavaScript) or a spreadsheet, or rows were read twice",
		"compare with the numbers at their source. If these are equal, "+restart)
	r.found("in_both", a.both, "IDs that both databases have: a merge loses or refuses one of two rows",
		"leave out rows that were replicated with --since; give the others new IDs")
}

// addGenerators adds what shows in the IDs of one generator only.
func (a *Audit) addGenerators(r *Report) {
	var interleaved, back Finding
	var longestApart, longestBack time.Duration
	for _, key := range a.generatorKeys() {
		g, name := a.generators[key], a.name(key)
		if g.ids[0] > 0 && g.ids[1] > 0 {
			a.shared.add(1, g.last, name)
		}

		switch {
		case g.descents >= 5: // few clocks are set back so often
			interleaved.add(g.descents, g.descent, name)
			longestApart = max(longestApart, g.longest)
		case g.descents > 0:
			back.add(g.descents, g.descent, name)
			longestBack = max(longestBack, g.longest)
		}
	}

	r.found("shared_worker", a.shared, "workers with IDs in both databases, so both can issue equal ones",
		"give each database workers of its own")
	r.found("interleaved", interleaved, fmt.Sprintf("IDs that descend again and again, by %s at most: two generators "+
		"on one worker, whose clocks differ; or a clock is set back often%s", timetext.Days(longestApart), late),
		restart)
	r.found("step_back", back, fmt.Sprintf("IDs that descend, by %s at most: a clock was set back, or a generator "+
		"restarted with an earlier one%s", timetext.Days(longestBack), late),
		"IDs of that span can be issued again. Generators of sqlflake go on above their last ID")
}

// addNotes adds what limits the findings.
func (a *Audit) addNotes(r *Report) {
	hasBoth := a.ids[0] > 0 && a.ids[1] > 0
	sharesNothing := a.both.Count+a.shared.Count == 0
	notes := []struct {
		applies bool
		text    string
	}{
		{r.IDs == 0, "there are no IDs to look at"},
		{
			hasBoth && sharesNothing,
			"no ID is in both, and no worker is used by both: this shows nothing against a merge",
		},
		{
			!a.opts.Issued,
			"without the order of issue, steps back can't be seen, " +
				"nor two generators that both start at 0 in each tick",
		},
		{
			len(a.unordered) > 0,
			fmt.Sprintf("%d rows without a value in the column of --by are not in the order", len(a.unordered)),
		},
		{a.opts.Issued, fmt.Sprintf("descents of less than %v do not count, see --slack", a.slack)},
		{
			a.noZone,
			a.opts.By + " has no time zone. As a local time it steps back by an hour in autumn; " +
				"if it is UTC, say --slack 10s",
		},
		{true, "equal IDs that a primary key refused are in no table: look for unique violations in the logs"},
		{
			a.untracked > 0,
			fmt.Sprintf("%d IDs are of further workers than the first %d: the layout is probably another one",
				a.untracked, maxGenerators),
		},
	}

	for _, note := range notes {
		if note.applies {
			r.Notes = append(r.Notes, note.text)
		}
	}
}
