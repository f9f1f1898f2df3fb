package report

import (
	"fmt"
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
	if kind == baseline || f.Verdict == measure.Unknown {
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
	return document.Number(f.Median, f.Metric.Digits) + f.Metric.Unit
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
	"rows": "# rows", "parents": "# parents", "clients": "# clients", "graphs": "# graphs",
	"batch": "# a statement", "delay": "# to the server", "by": "by #", "pace": "# rows/s each", "cache": "cache #",
}

func paramText(p measure.Setting) string {
	value := p.Value
	if n, err := strconv.Atoi(value); err == nil {
		value = document.Number(float64(n), 0)
	}
	return strings.Replace(paramForms[p.Name], "#", value, 1)
}

// number returns the value of a parameter.
func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64) // the tool has written it
	return n
}

// Text returns a table for each case, for a terminal.
func (r Report) Text() string {
	var b strings.Builder
	last := ""
	for _, g := range r.Groups {
		if g.Scenario != last {
			last = g.Scenario
			for _, s := range scenario.Find([]string{last}) { // none if another version has measured it
				fmt.Fprintf(&b, "%s\n%s\n\n", s.Title, s.Question)
			}
		}
		fmt.Fprintf(&b, "%s, %s\n%s\n", r.title(g.Engine), caseText(g.Params), document.Text(r.table(g)))
	}

	for _, note := range r.Notes {
		fmt.Fprintln(&b, note)
	}
	fmt.Fprintf(&b, "In brackets: the ratio to %s. %s. %s\n", kindTitle(baseline), signs, r.chance())
	return b.String()
}

// table returns the figures of a group: a row for each kind and a column for each metric. A curve has a column for each
// kind, and a row for each size of the table.
func (r Report) table(g measure.Group) [][]string {
	rows := [][]string{{""}}
	for _, kind := range g.Kinds {
		rows = append(rows, []string{kindTitle(kind)})
	}

	curve := false
	for _, m := range g.Metrics {
		title, _, _ := strings.Cut(m.Title, ", bytes a row")
		if _, point, ok := strings.Cut(m.Name, "@"); ok {
			curve = true
			title += ", " + document.Number(number(point), 0) + " rows"
		}

		rows[0] = append(rows[0], title)
		for i, kind := range g.Kinds {
			rows[i+1] = append(rows[i+1], r.cell(g, kind, m.Name).text())
		}
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

// markdown returns the results as a page.
func (r Report) markdown() string {
	var b strings.Builder
	b.WriteString(advice)
	fmt.Fprintf(&b, "\nA row without a title belongs to the one above. Ratios are to %s: %s. %s\n",
		kindTitle(baseline), signs, r.chance())
	for _, engine := range r.engines() {
		if rows := r.rows(engine); len(rows) > 1 {
			fmt.Fprintf(&b, "\n## %s\n\n%s", document.Escape(r.title(engine)), document.Table(rows))
		}
	}

	env := r.Environment
	fmt.Fprintf(&b, "\n## Where the figures come from\n\n* Commands, in `benchmarks/`: %s\n* Begun %s; machine: %s\n",
		code(measure.Get(env.Settings, "command")), document.Escape(measure.Get(env.Settings, "time")),
		code(measure.Text(env.Machine(), " ", ", ")))
	for _, engine := range r.engines() {
		settings := measure.Text(env.Database(engine), " ", ", ")
		fmt.Fprintf(&b, "* %s: %s\n", document.Escape(r.title(engine)), code(settings))
	}

	for _, note := range r.Notes {
		fmt.Fprintf(&b, "* %s\n", document.Escape(note))
	}
	return b.String()
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

// view is a metric in the tables of all scenarios.
type view struct {
	metrics string         // the first one that the baseline has: on SQLite some kinds have an index of the key
	only    measure.Params // the cases with these settings
	always  bool           // even if no key differs
}

// The inserts that a reader asks about first: of one client, and of several with ten rows a statement.
var single, several = measure.P("batch", 1000), measure.P("batch", 10)

var views = map[string][]view{
	"load":     {{"bytes_primary bytes_table", single, true}, {"rate", single, true}},
	"clients":  {{"bytes_primary bytes_table", nil, true}, {"rate", several, true}},
	"paced":    {{"bytes_primary bytes_table", measure.P("pace", 125), false}},
	"children": {{"bytes_secondary", nil, false}, {"rate", nil, false}},
	"graph":    {{"time", nil, true}},
	"grow":     {{"rate", nil, false}},
}

// rows returns an engine's table of all scenarios. A name that the row above has is left out.
func (r Report) rows(engine string) [][]string {
	table := [][]string{{"", kindTitle(baseline)}}
	for _, kind := range r.compared(engine) {
		table[0] = append(table[0], kindTitle(kind))
	}

	title, metric := "", "" // of the row above
	for _, s := range scenario.All() {
		for _, v := range views[s.Name] {
			for _, g := range r.groups(engine, s.Name, v.only...) {
				about, cells, show := r.row(v, g)
				if !show {
					continue
				}

				name := caseText(g.Params, "graphs", "parents")
				if about != metric {
					name = strings.ToUpper(about[:1]) + about[1:] + "; " + name
				}
				if s.Title != title {
					name = s.Title + ": " + name
				}
				title, metric = s.Title, about
				table = append(table, append([]string{name}, cells...))
			}
		}
	}
	return table
}

// row returns the title and the cells of a row; show is false for one of little interest, in which no key differs.
// Curves of large tables are of interest: they are measured once.
func (r Report) row(v view, g measure.Group) (title string, cells []string, show bool) {
	base, ok := baseOf(v, g)
	title = base.Metric.Title
	if strings.Contains(base.Metric.Name, "@") {
		title += " at the end"
		show = number(g.Params.Get("rows")) >= 1_000_000
	}

	show, cells = ok && (show || v.always), []string{withUnit(base)}
	for _, kind := range r.compared(g.Engine) {
		c := r.cell(g, kind, base.Metric.Name)
		show = show || c.verdict > measure.Same
		cells = append(cells, c.compared())
	}
	return title, cells, show
}

// baseOf returns the figure of the baseline, of a curve the last one.
func baseOf(v view, g measure.Group) (measure.Figure, bool) {
	for metric := range strings.FieldsSeq(v.metrics) {
		for _, m := range slices.Backward(g.Metrics) {
			name, _, _ := strings.Cut(m.Name, "@")
			if f, ok := g.Figure(baseline, m.Name); ok && name == metric {
				return f, true
			}
		}
	}
	return measure.Figure{}, false
}
