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
		Rows: a.read, IDs: a.ids[0] + a.ids[1], IDsWith: a.ids[1], Layout: a.guess, Greatest: a.last,
		Above53: a.above53, Workers: []auditWorker{}, Findings: []finding{}, Notes: []string{},
	}
	if a.guess.Layout != "" {
		r.End, r.YearsLeft = d.End, d.Years
	}
	if a.two {
		r.each = fmt.Sprintf(": %d of the first database, %d of the second", a.ids[0], a.ids[1])
	}
	var shared, back, apart, mixed finding
	longest := map[*finding]time.Duration{}
	for _, key := range slices.Sorted(maps.Keys(a.generators)) {
		g := a.generators[key]
		w := auditWorker{a.name(key), g.ids[0] + g.ids[1], g.ids[1], moment{a.Time(g.first)}, moment{a.Time(g.last)}, g.last, g.perTick, g.perSecond}
		if r.First == nil || w.First.Before(r.First.Time) {
			r.First = &w.First
		}
		if r.Last == nil || w.Last.After(r.Last.Time) {
			r.Last = &w.Last
		}
		r.Workers = append(r.Workers, w)
		if g.ids[0] > 0 && g.ids[1] > 0 {
			shared.add(1, g.last, w.Worker)
		}
		descends := &back
		if g.descents >= 5 { // few clocks are set back so often
			descends = &apart
		}
		if g.descents > 0 {
			descends.add(g.descents, g.descent, w.Worker)
			longest[descends] = max(longest[descends], g.longest)
		}
		if a.mixed(g) && !a.guess.unsure {
			mixed.add(g.wide[0], g.split, w.Worker)
		}
	}
	slices.SortStableFunc(r.Workers, func(x, y auditWorker) int { return cmp.Compare(y.IDs, x.IDs) })
	for i, w := range r.Workers {
		if r.Peak == nil || w.PerSecond > r.Peak.PerSecond {
			r.Peak, r.Ceiling = &r.Workers[i], float64(w.PerSecond)/max(d.PerSecond, float64(d.PerTick))
		}
	}

	find := func(kind string, f finding, shows, do string) {
		if f.Count > 0 {
			r.Findings = append(r.Findings, finding{kind, f.Count, f.Example, f.Workers[:min(len(f.Workers), 10)], shows, do})
		}
	}
	const restart = "look for two processes with one worker number: a random number, a copied configuration, " +
		"a rolling restart. Leases give each process its own"
	const late = "; or rows were inserted so much later than their ID was made, which a greater --slack leaves out"
	switch {
	case r.IDs > 0 && a.other != "":
		find("layout", finding{Count: r.IDs}, "a guess that does not fit both databases, of which one rather has "+a.other,
			"give --layout. If they have two, no comparison makes sense")
	case r.IDs > 0 && !a.guess.Fits && !a.guess.old:
		find("layout", finding{Count: r.IDs}, "a guess that fits badly: what else is said is wrong if the layout is", "give --layout")
	}
	if a.two && (a.ids[0] == 0 || a.ids[1] == 0) {
		find("empty", finding{Count: 1}, "a database without IDs, so nothing was compared", "is it the right database, table and --since?")
	}
	find("null", finding{Count: a.nulls}, "rows without an ID", "find the writer that sets none")
	find("not_an_id", finding{Count: a.notIDs}, "values that are no IDs. The first: "+a.fault, "is it the right column?")
	find("impossible", a.impossible, "IDs that no generator of the layout issued: 0, negative, or above its greatest one",
		"is it the right layout? Otherwise find their writer")
	if a.future.Count > 0 {
		find("future", a.future, "IDs from more than 10 s after now, the latest from "+r.Last.Format(time.RFC3339Nano),
			"is it the right layout? Otherwise a clock was ahead: a new generator has to start above them")
	}
	find("duplicate", a.twice, "equal IDs: two generators have one worker, IDs were numbers in JavaScript, or rows were read twice", restart)
	find("in_both", a.both, "IDs that both databases have: a merge loses or refuses one of two rows",
		"leave out rows that were replicated with --since; give the others new IDs")
	find("shared_worker", shared, "workers with IDs in both databases, so both can issue equal ones", "give each database workers of its own")
	find("interleaved", apart, fmt.Sprintf("IDs that descend again and again, by %v at most: two generators on one worker, whose clocks differ; "+
		"or a clock is set back often%s", longest[&apart], late), restart)
	find("mixed", mixed, "sequences within a tick that are far apart, as of two generators on one worker of which one does not start at 0; "+
		"or a job that takes many IDs for other tables in between", restart)
	find("step_back", back, fmt.Sprintf("IDs that descend, by %v at most: a clock was set back, or a generator restarted with an earlier one%s",
		longest[&back], late), "IDs of that span can be issued again. Generators of sqlflake go on above their last ID")
	if !a.guess.unsure {
		find("rounded", a.wasRounded(), "IDs whose lowest bits are 0, far more than by chance: they were a float64, as numbers in JavaScript are",
			"send IDs as strings. Who looks for the true ID does not find these rows")
	}
	note := func(when bool, text string) {
		if when {
			r.Notes = append(r.Notes, text)
		}
	}
	note(r.IDs == 0, "there are no IDs to look at")
	note(a.guess.old, "the latest IDs are older than 30 days: if the table is in use, its layout has a later epoch, so give --layout")
	note(a.earliest > 0, fmt.Sprintf("IDs of the first second of the layout: %d. Are they numbers of a counter?", a.earliest))
	note(a.two && a.both.Count+shared.Count == 0 && a.ids[0] > 0 && a.ids[1] > 0,
		"no ID is in both, and no worker is used by both: this shows nothing against a merge")
	note(!a.issued, "without the order of issue, steps back can't be seen, nor two generators that both start at 0 in each tick")
	note(a.unordered > 0, fmt.Sprintf("%d rows without a value in the column of --by are not in the order", a.unordered))
	note(a.issued, fmt.Sprintf("descents of less than %v do not count, see --slack", a.slack))
	note(true, "equal IDs that a primary key refused are in no table: look for unique violations in the logs")
	note(a.untracked > 0, fmt.Sprintf("%d IDs are of further workers than the first %d: the layout is probably another one", a.untracked, maxGenerators))
	return r
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
		if more := len(r.Workers) - 20; more > 0 {
			fmt.Fprintf(&b, "and %d more workers, see --json\n", more)
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
