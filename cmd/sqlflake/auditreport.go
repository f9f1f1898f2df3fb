package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// auditReport is the output of audit -json.
type auditReport struct {
	Rows      int64         `json:"rows"`               // read, of both databases
	IDs       int64         `json:"ids"`                // looked at
	IDsWith   int64         `json:"ids_with,omitempty"` // those of them in the second database
	Layout    guessed       `json:"layout"`
	First     *moment       `json:"first"` // null without IDs
	Last      *moment       `json:"last"`
	Greatest  snowflake.ID  `json:"greatest_id,omitzero"`
	End       string        `json:"end,omitempty"` // of the layout, and years until then
	YearsLeft float64       `json:"years_left,omitempty"`
	Above53   int64         `json:"above_2_53"`
	Workers   []auditWorker `json:"workers"`
	Peak      *auditWorker  `json:"peak"` // the worker with the greatest rate
	Ceiling   float64       `json:"peak_share_of_ceiling"`
	Findings  []finding     `json:"findings"`
	Notes     []string      `json:"notes"`
	each      string        // IDs of the databases, if there are two
}

type auditWorker struct {
	Worker    string       `json:"worker"`
	IDs       int64        `json:"ids"`
	IDsWith   int64        `json:"ids_with,omitempty"`
	First     moment       `json:"first"`
	Last      moment       `json:"last"`
	Greatest  snowflake.ID `json:"greatest_id"`
	PerTick   int64        `json:"most_in_a_tick"`
	PerSecond int64        `json:"most_in_a_second"`
}

// finding is something that should not be.
type finding struct {
	Kind    string       `json:"kind"`
	Count   int64        `json:"count"`
	Example snowflake.ID `json:"example,omitzero"`
	Workers []string     `json:"workers,omitempty"` // the first ten
	Shows   string       `json:"shows"`
	Do      string       `json:"do"`
}

func (f *finding) add(n int64, example snowflake.ID, workers ...string) {
	f.Count, f.Example, f.Workers = f.Count+n, cmp.Or(f.Example, example), append(f.Workers, workers...)
}

func (a *audit) report() *auditReport {
	d := describeLayout(a.Layout, a.now)
	r := &auditReport{
		Rows: a.read, IDs: a.ids[0] + a.ids[1], IDsWith: a.ids[1], Layout: a.guess, Greatest: a.greatest,
		Above53: a.above53, Workers: []auditWorker{}, Findings: []finding{}, Notes: []string{},
	}
	if a.guess.Layout != "" {
		r.End, r.YearsLeft = d.End, d.Years
	}
	if a.two {
		r.each = fmt.Sprintf(": %d of the first database, %d of the second", a.ids[0], a.ids[1])
	}

	for _, key := range slices.Sorted(maps.Keys(a.generators)) {
		g := a.generators[key]
		w := auditWorker{
			a.name(key), g.ids[0] + g.ids[1], g.ids[1],
			moment{a.Time(g.first)},
			moment{a.Time(g.last)},
			g.greatest, g.perTick, g.perSecond,
		}
		if r.First == nil || w.First.Before(r.First.Time) {
			r.First = &w.First
		}
		if r.Last == nil || w.Last.After(r.Last.Time) {
			r.Last = &w.Last
		}
		r.Workers = append(r.Workers, w)
	}
	slices.SortStableFunc(r.Workers, func(x, y auditWorker) int { return cmp.Compare(y.IDs, x.IDs) })
	for i, w := range r.Workers {
		if r.Peak == nil || w.PerSecond > r.Peak.PerSecond {
			r.Peak, r.Ceiling = &r.Workers[i], float64(w.PerSecond)/max(d.PerSecond, float64(d.PerTick))
		}
	}

	a.addFindings(r)
	a.addNotes(r)
	return r
}

// What several findings say.
const (
	restart = "look for two processes with one worker number: a random number, a copied configuration, " +
		"a rolling restart. Leases give each process its own"
	late = "; or rows were inserted so much later than their ID was made, which a greater --slack leaves out"
)

// addFindings adds what should not be, the most general first.
func (a *audit) addFindings(r *auditReport) {
	find := func(kind string, f finding, shows, do string) {
		if f.Count > 0 {
			r.Findings = append(r.Findings, finding{kind, f.Count, f.Example, f.Workers[:min(len(f.Workers), 10)], shows, do})
		}
	}

	switch all := (finding{Count: r.IDs}); {
	case a.other != "":
		find("layout", all, "a guess that does not fit both databases, of which one rather has "+a.other,
			"give --layout. If they have two, no comparison makes sense")
	case a.guess.Layout != "" && !a.guess.Fits:
		find("layout", all, "a guess that fits badly: its latest IDs are older than 30 days, so that nothing proves its "+
			"epoch, or its sequences do not count up. What else is said is wrong if the layout is", "give --layout")
	}
	if a.two && (a.ids[0] == 0 || a.ids[1] == 0) {
		find("empty", finding{Count: 1}, "a database without IDs, so nothing was compared", "is it the right database, table and --since?")
	}
	find("null", finding{Count: a.nulls}, "rows without an ID", "find the writer that sets none")
	find("not_an_id", finding{Count: a.notIDs}, "values that are no IDs. The first: "+a.fault, "is it the right column?")
	find("impossible", a.impossible, "IDs that no generator of the layout issued: 0, negative, or above its greatest one",
		"is it the right layout? Otherwise find their writer")
	find("counter", a.counter, "small numbers, which as IDs were of the first minute of the layout: rather those of a "+
		"counter, such as auto-increment. All else is said without them", "find their writer: a default of the column, or an import")
	if a.future.Count > 0 {
		find("future", a.future, "IDs from more than 10 s after now, the latest from "+r.Last.Format(time.RFC3339Nano),
			"is it the right layout? Otherwise a clock was ahead: a new generator has to start above them")
	}
	find("duplicate", a.twice, "equal IDs: two generators have one worker, IDs were rounded by a float64 (JavaScript) or "+
		"a spreadsheet, or rows were read twice", "compare with the numbers at their source. If these are equal, "+restart)
	find("in_both", a.both, "IDs that both databases have: a merge loses or refuses one of two rows",
		"leave out rows that were replicated with --since; give the others new IDs")

	var apart, interleaved, back finding
	compared, longestApart, longestBack := "", time.Duration(0), time.Duration(0)
	for _, key := range slices.Sorted(maps.Keys(a.generators)) {
		g, name := a.generators[key], a.name(key)
		if g.ids[0] > 0 && g.ids[1] > 0 {
			a.shared.add(1, g.last, name)
		}
		if 2*g.apart > g.compared && g.apart >= 5 { // some rows are late
			apart.add(g.apart, g.example, name)
			compared = cmp.Or(compared,
				fmt.Sprintf("%s, and %s is %s", instant(a.Time(g.example)), a.by, instant(g.exampleBy)))
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
	find("shared_worker", a.shared, "workers with IDs in both databases, so both can issue equal ones",
		"give each database workers of its own")
	find("time", apart, fmt.Sprintf("workers with most IDs over %s off the time of their rows. The example is of %s: "+
		"another epoch or clock, a time zone, another order of fields, or an import%s", inDays(a.tolerance), compared, late),
		"compare the settings of these workers with the others, and with the layout")
	find("interleaved", interleaved, fmt.Sprintf("IDs that descend again and again, by %s at most: two generators on one "+
		"worker, whose clocks differ; or a clock is set back often%s", inDays(longestApart), late), restart)
	find("step_back", back, fmt.Sprintf("IDs that descend, by %s at most: a clock was set back, or a generator restarted "+
		"with an earlier one%s", inDays(longestBack), late), "IDs of that span can be issued again. Generators of sqlflake go on above their last ID")
	rounded, by := a.wasRounded()
	find("rounded", rounded, "IDs that end as rounded ones do, far more than by chance. They had "+by,
		"send IDs as strings, and import them as text. Who looks for the true ID does not find these rows")
}

// addNotes adds what limits the findings.
func (a *audit) addNotes(r *auditReport) {
	note := func(when bool, format string, args ...any) {
		if when {
			r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
		}
	}
	note(r.IDs == 0, "there are no IDs to look at")
	note(a.two && a.both.Count+a.shared.Count == 0 && a.ids[0] > 0 && a.ids[1] > 0,
		"no ID is in both, and no worker is used by both: this shows nothing against a merge")
	note(!a.issued, "without the order of issue, steps back can't be seen, nor two generators that both start at 0 in each tick")
	note(a.unordered.Len() > 0, "%d rows without a value in the column of --by are not in the order", a.unordered.Len())
	note(a.issued, "descents of less than %v do not count, see --slack", a.slack)
	note(a.noZone, "%s has no time zone. As a local time it steps back by an hour in autumn; if it is UTC, "+
		"say --slack 10s", a.by)
	note(true, "equal IDs that a primary key refused are in no table: look for unique violations in the logs")
	note(a.untracked > 0, "%d IDs are of further workers than the first %d: the layout is probably another one",
		a.untracked, maxGenerators)
}

func (r *auditReport) write(w io.Writer) error {
	var b strings.Builder // has no errors
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s%s\n", name, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n         "))
	}
	line("rows", "%d, of which %d IDs were looked at%s", r.Rows, r.IDs, r.each)
	line("layout", "%s", &r.Layout)
	if r.First != nil {
		line("times", "%s to %s", r.First.Format(time.RFC3339Nano), r.Last.Format(time.RFC3339Nano))
		line("greatest", "%v", r.Greatest)
		share := "under 0.1%"
		if r.Ceiling >= 0.001 {
			share = fmt.Sprintf("%.1f%%", 100*r.Ceiling)
		}
		line("rate", "at most %d a second (%s of the ceiling), by worker %s", r.Peak.PerSecond, share, r.Peak.Worker)
		line("2^53", "is reached by %d of the IDs, which JavaScript rounds as numbers", r.Above53)
	}
	if r.End != "" {
		line("ends", "%s (%.1f years from now)", r.End, r.YearsLeft)
	}
	if len(r.Workers) > 0 {
		b.WriteByte('\n')
		table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "WORKER\tIDS\tA SECOND\tFIRST\tLAST\tGREATEST ID")
		for _, w := range r.Workers[:min(len(r.Workers), 20)] {
			fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%v\n", w.Worker, w.IDs, w.PerSecond, instant(w.First.Time), instant(w.Last.Time), w.Greatest)
		}
		_ = table.Flush() // into b
		if len(r.Workers) > 20 {
			fmt.Fprintf(&b, "and %d more workers, see --json\n", len(r.Workers)-20)
		}
	}
	fmt.Fprintf(&b, "\n%d %s\n", len(r.Findings), map[bool]string{true: "finding", false: "findings"}[len(r.Findings) == 1])
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n%s: %d", f.Kind, f.Count)
		if f.Example != 0 {
			b.WriteString(", such as " + f.Example.String())
		}
		if len(f.Workers) > 0 {
			b.WriteString(", worker " + strings.Join(f.Workers, ", "))
		}
		fmt.Fprintf(&b, "\n  shows  %s\n  do     %s\n", f.Shows, f.Do)
	}
	b.WriteString("\nnote: " + strings.Join(r.Notes, "\nnote: ") + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}
