package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// advice is the answer without figures.
const advice = `# Which primary key?

**Take a snowflake** if a program needs keys before the insert, if several services or databases make them, or if the
number of rows must stay secret. **Else take auto-increment**: one database makes all keys, none is needed before its
insert, and the number of rows may be public. **Take UUIDv7** if keys are made without coordination: no worker number
and no lease. **Take UUIDv4** if a key must reveal nothing, not even its time, or show tokens of ` +
	"`sqltypes/publicid`" + `
in place of the keys.

**If several processes insert into MariaDB or MySQL, give snowflakes the layout ` + "`snowflake.Clustered()`**" + `.
`

// writeMarkdown writes the results as a Markdown page, which may show the picture.
func (r Report) writeMarkdown(w io.Writer, picture bool) error {
	var b strings.Builder
	b.WriteString(advice)
	if picture {
		fmt.Fprintf(&b, "\n![%s](%s)\n", pictureTitle, pictureName)
	}

	fmt.Fprintf(&b, "\nA row without a title belongs to the one above. Ratios are to %s: %s. %s\n",
		kindTitle(r.Baseline), signs, r.chance())
	for _, engine := range r.engines() {
		rows := r.comparisons(engine)
		if len(rows) == 0 {
			continue
		}

		fmt.Fprintf(&b, "\n## %s\n\n", document.Escape(r.title(engine)))
		if text := r.sentence(engine); text != "" {
			fmt.Fprintf(&b, "%s\n\n", text)
		}

		kinds := append([]string{"", kindTitle(r.Baseline)}, titles(r.compared(engine))...)
		b.WriteString(document.Table(append([][]string{kinds}, tableOf(rows)...)))
	}

	fmt.Fprintf(&b, "\n## Where the figures come from\n\n* Commands, in `benchmarks/`: %s\n* Begun %s; machine: %s\n",
		code(r.Environment.Command), document.Escape(r.Environment.Time), code(settingText(r.Environment.Machine)))
	for _, engine := range r.engines() {
		settings := settingText(r.Environment.Database[engine])
		fmt.Fprintf(&b, "* %s: %s\n", document.Escape(r.title(engine)), code(settings))
	}

	for _, note := range r.Notes {
		fmt.Fprintf(&b, "* %s\n", document.Escape(note))
	}

	_, err := io.WriteString(w, b.String())
	return err
}

// tableOf returns the texts of the rows. A name that the row above has is left out.
func tableOf(rows []comparison) (table [][]string) {
	title, metric := "", "" // of the row above
	for _, one := range rows {
		name := one.metric + "; " + one.params
		switch {
		case one.title != title:
			name = one.title + ": " + name
		case one.metric == metric:
			name = one.params
		}
		title, metric = one.title, one.metric

		row := []string{name, one.base}
		for _, c := range one.cells {
			row = append(row, c.compared())
		}
		table = append(table, row)
	}

	return table
}

// code marks text as code, in which nothing needs to be escaped.
func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// compared returns the kinds in an engine's table of all scenarios, without the baseline.
func (r Report) compared(engine string) []string {
	all := []string{"snowflake", "snowflake-clustered", "uuidv7", "uuidv7-server", "uuidv4"}
	return slices.DeleteFunc(all, func(kind string) bool {
		return !slices.ContainsFunc(r.Groups, func(g measure.Group) bool {
			return g.Engine == engine && slices.Contains(g.Kinds, kind)
		})
	})
}

// views are the metrics in the tables of all scenarios. Of several with a bar between them the first that the baseline
// has counts: SQLite has an index of the key for some kinds only. A star takes all cases, and not the main one alone.
var views = map[string][]string{
	"load":     {"bytes_primary|bytes_table *", "rate *"},
	"clients":  {"bytes_primary|bytes_table *", "rate *"},
	"paced":    {"bytes_primary|bytes_table"},
	"children": {"bytes_secondary", "rate"},
	"graph":    {"time *"},
	"grow":     {"rate"},
}

// comparison is a row of the table of all scenarios: a metric in one case.
type comparison struct {
	title, metric, params, base string
	cells                       []cell
}

// comparisons returns the rows of the table for an engine.
func (r Report) comparisons(engine string) []comparison {
	var all []comparison
	for _, s := range scenario.All() {
		for _, entry := range views[s.Name] {
			names, every := strings.CutSuffix(entry, " *")
			for metric := range strings.SplitSeq(names, "|") {
				g, ok := r.main(engine, s.Name, metric)
				if !ok {
					continue
				}

				groups := []measure.Group{g}
				if every {
					groups = r.groups(engine, s.Name)
				}

				for _, g := range groups {
					if one, ok := r.compare(s, g, lastPoint(g, metric)); ok {
						all = append(all, one)
					}
				}

				break
			}
		}
	}

	return all
}

// compare returns the row of a metric; false for one of little interest: inserts of single rows by one client,
// rates of several clients except with 10 rows a statement, and metrics in which no key differs, except inserts and
// curves of large tables, which are measured once.
func (r Report) compare(s scenario.Scenario, g measure.Group, metric string) (comparison, bool) {
	base, ok := g.Figure(r.Baseline, metric)
	batch := g.Params.Get("batch")
	isSingleRows := s.Name == "load" && batch == "1"
	isOtherRate := s.Name == "clients" && metric == "rate" && batch != "10"
	if !ok || isSingleRows || isOtherRate {
		return comparison{}, false
	}

	name, _, curve := strings.Cut(metric, "@")
	title := measure.Find(name).Title
	if curve {
		title += " at the end"
	}

	one := comparison{
		title: s.Title, metric: strings.ToUpper(title[:1]) + title[1:],
		params: caseText(g.Params, "graphs", "parents"), base: withUnit(base),
	}

	largeCurve := curve && number(g.Params.Get("rows")) >= 1_000_000
	show := largeCurve || slices.Contains([]string{"load", "clients", "graph"}, s.Name)
	for _, kind := range r.compared(g.Engine) {
		c := r.cell(g, kind, metric)
		show = show || c.verdict > measure.Same
		one.cells = append(one.cells, c)
	}

	return one, show
}
