package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// signs explains the signs of cells.
const signs = "▼ worse, ▲ better, no sign: no difference shown, ~ not certain, ? too few rounds"

// cell is a figure in a table: its value, its ratio to the baseline, and the sign of its verdict.
type cell struct {
	value, ratio, sign string
	verdict            measure.Verdict
}

func (r Report) cell(g measure.Group, kind, metric string) cell {
	f, ok := g.Figure(kind, metric)
	if !ok {
		return cell{value: "–"}
	}

	c := cell{value: withUnit(f), verdict: f.Verdict}
	if kind == r.Baseline || f.Verdict == measure.Unknown {
		return c
	}

	c.ratio = document.Factor(f.Ratio) + "×"
	c.sign = [...]string{measure.Few: "?", measure.Same: "", measure.Better: "▲", measure.Worse: "▼"}[f.Verdict]
	const much = 1.25 // that a figure seems to differ, although its rounds do not show it
	seemsToDiffer := f.Ratio >= much || f.Ratio <= 1/much
	if f.Verdict == measure.Same && seemsToDiffer {
		c.sign = "~"
	}

	return c
}

// text returns a cell as one text: "22.5 B (1.32×▼)".
func (c cell) text() string {
	if c.ratio == "" {
		return c.value
	}
	return c.value + " (" + c.compared() + ")"
}

// compared returns the ratio and its sign, "" if there is none.
func (c cell) compared() string { return c.ratio + c.sign }

func withUnit(f measure.Figure) string {
	text := document.Number(f.Median, f.Metric.Digits)
	switch f.Metric.Unit {
	case "":
		return text
	case "1/s":
		return text + "/s"
	}
	return text + " " + f.Metric.Unit
}

// caseText formats parameters: "200,000 rows, 1,000 a statement". It leaves out those named.
func caseText(p measure.Params, without ...string) string {
	var parts []string
	for _, param := range p {
		if !slices.Contains(without, param.Name) {
			parts = append(parts, paramText(param))
		}
	}
	return strings.Join(parts, ", ")
}

var paramForms = map[string]string{
	"batch": "# a statement", "delay": "# to the server", "by": "by #", "pace": "# rows/s each",
}

func paramText(p measure.Setting) string {
	value := p.Value
	if n, err := strconv.Atoi(value); err == nil {
		value = document.Number(float64(n), 0)
	}

	if form, ok := paramForms[p.Name]; ok {
		return strings.Replace(form, "#", value, 1)
	}
	if one, ok := strings.CutSuffix(p.Name, "s"); ok { // rows, parents, clients, graphs
		if value == "1" {
			return "1 " + one
		}
		return value + " " + p.Name
	}

	return p.Name + " " + value
}

// settingText lists settings: "cores 2, memory 23.5 GiB".
func settingText(list []measure.Setting) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = s.Name + " " + s.Value
	}
	return strings.Join(parts, ", ")
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

func titles(kinds []string) []string {
	all := make([]string, len(kinds))
	for i, kind := range kinds {
		all[i] = kindTitle(kind)
	}
	return all
}

// WriteText writes a table for each case, for a terminal.
func (r Report) WriteText(w io.Writer) error {
	last := ""
	for _, g := range r.Groups {
		if s := scenarioOf(g.Scenario); s.Name != last {
			last = s.Name
			fmt.Fprintf(w, "%s\n%s\n\n", s.Title, s.Question)
		}

		fmt.Fprintf(w, "%s, %s\n", r.title(g.Engine), caseText(g.Params))
		if err := document.WriteText(w, r.table(g)); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}

	for _, note := range r.Notes {
		fmt.Fprintln(w, note)
	}
	_, err := fmt.Fprintf(w, "In brackets: the ratio to %s. %s. %s\n", kindTitle(r.Baseline), signs, r.chance())
	return err
}

// table returns the figures of a group: a row for each kind and a column for each metric. A curve has a column for each
// kind, and a row for each size of the table.
func (r Report) table(g measure.Group) [][]string {
	head, curve := []string{""}, false
	for _, m := range g.Metrics {
		title, _, _ := strings.Cut(m.Title, ", bytes a row")
		if _, point, ok := strings.Cut(m.Name, "@"); ok {
			curve = true
			title = m.Title + ", " + document.Number(number(point), 0) + " rows"
		}
		head = append(head, title)
	}

	rows := [][]string{head}
	for _, kind := range g.Kinds {
		row := []string{kindTitle(kind)}
		for _, m := range g.Metrics {
			row = append(row, r.cell(g, kind, m.Name).text())
		}
		rows = append(rows, row)
	}

	if curve {
		return transpose(rows)
	}
	return rows
}

// transpose returns the columns of a table as rows.
func transpose(rows [][]string) [][]string {
	columns := make([][]string, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			columns[i] = append(columns[i], text)
		}
	}

	return columns
}

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

// writeMarkdown writes the results as a Markdown page.
func (r Report) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(advice)
	fmt.Fprintf(&b, "\nA row without a title belongs to the one above. Ratios are to %s: %s. %s\n",
		kindTitle(r.Baseline), signs, r.chance())
	for _, engine := range r.engines() {
		rows := r.comparisons(engine)
		if len(rows) == 0 {
			continue
		}

		fmt.Fprintf(&b, "\n## %s\n\n", document.Escape(r.title(engine)))
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
