package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// compared returns the kinds in an engine's table of all scenarios, beside the baseline.
func (r Report) compared(engine string) []string {
	all := []string{"snowflake", "snowflake-clustered", "uuidv7", "uuidv7-server", "uuidv4"}
	return slices.DeleteFunc(all, func(kind string) bool {
		return !slices.ContainsFunc(r.Groups, func(g measure.Group) bool { return g.Engine == engine && slices.Contains(g.Kinds, kind) })
	})
}

// views are the metrics in the tables of all scenarios. Of several with a bar between them the first that the baseline
// has counts: SQLite has an index of the key for some kinds only. A star takes all cases, and not the main one alone.
var views = map[string][]string{
	"load":     {"bytes_primary|bytes_table *", "rate *"},
	"clients":  {"bytes_primary|bytes_table *", "rate *"},
	"paced":    {"bytes_primary|bytes_table"},
	"children": {"bytes_secondary", "rate"},
	"read":     {"lookup", "newest_key", "range_key", "join"},
	"graph":    {"time *"},
	"gorm":     {"bytes_table", "rate *"},
	"grow":     {"rate"},
}

// comparison is a row of the table of all scenarios.
type comparison struct {
	Engine, Scenario, Title, What, Base string
	Writers, Rows                       string // of the cases that a reader can choose: "one", "many" or "any"; rows a statement
	Minor                               bool   // left out of a short document
	Cells                               []cell
}

// comparisons returns the rows of the table for an engine.
func (r Report) comparisons(engine string) []comparison {
	var all []comparison
	for _, s := range r.scenarios() {
		for _, entry := range views[s] {
			names, every := strings.CutSuffix(entry, " *")
			for metric := range strings.SplitSeq(names, "|") {
				g, ok := r.main(engine, s, metric)
				if !ok {
					continue
				}
				groups := []measure.Group{g}
				if every {
					groups = r.groups(engine, s)
				}
				for _, g := range groups {
					all = r.compare(all, g, lastPoint(g, metric))
				}
				break
			}
		}
	}
	return all
}

// compare appends the row of a metric. It leaves out rows in which no key differs, apart from inserts and from curves of
// large tables, which are measured once.
func (r Report) compare(all []comparison, g measure.Group, metric string) []comparison {
	base, ok := g.Figure(r.Baseline, metric)
	if !ok {
		return all
	}
	name, _, curve := strings.Cut(metric, "@")
	title := measure.Find(name).Title
	if curve {
		title += " at the end"
	}
	one := comparison{
		Engine: g.Engine, Scenario: g.Scenario, Title: scenarioOf(g.Scenario).Title, Base: withUnit(base),
		What: strings.ToUpper(title[:1]) + title[1:] + "; " + caseText(g.Params, "graphs", "parents"),
	}
	if batch := g.Params.Get("batch"); g.Scenario == "load" || g.Scenario == "clients" {
		one.Writers, one.Rows = map[string]string{"load": "one", "clients": "many"}[g.Scenario], batch
		if g.Scenario == "load" && batch == "1000" { // one writer's statements of several rows are alike
			one.Rows = "10 100 1000"
		}
		one.Minor = g.Scenario == "load" && batch == "1" || g.Scenario == "clients" && metric == "rate" && batch != "10"
		if g.Engine == "sqlite" {
			one.Writers = "any" // one writer at a time
		}
	}
	differ := one.Writers != "" || curve && number(g.Params.Get("rows")) >= 1_000_000
	for _, kind := range r.compared(g.Engine) {
		c := r.cell(g, kind, metric)
		differ = differ || c.verdict > measure.Same
		one.Cells = append(one.Cells, c)
	}
	if !differ {
		return all
	}
	return append(all, one)
}

// cases returns the rows in which a reader can choose a case, or the others.
func cases(rows []comparison, choice bool) []comparison {
	return slices.DeleteFunc(slices.Clone(rows), func(one comparison) bool { return (one.Writers != "") != choice })
}

// scenarios returns the names of those with figures.
func (r Report) scenarios() []string {
	var names []string
	for _, g := range r.Groups {
		if !slices.Contains(names, g.Scenario) {
			names = append(names, g.Scenario)
		}
	}
	return names
}

// bars draws a metric of kinds, each with a bar for each group. The part of a table that its indexes take has the full
// colour.
func (r Report) bars(title, metric string, kinds []string, groups ...measure.Group) chart.Chart {
	var bars []chart.Bar
	parts := false
	for _, kind := range kinds {
		label := kindTitle(kind)
		for _, g := range groups {
			f, ok := g.Figure(kind, metric)
			if !ok {
				continue
			}
			c := r.cell(g, kind, metric)
			one := chart.Bar{Label: label, Class: family(kind), Value: f.Median, Text: c.Value}
			if c.Ratio != "" {
				one.Text += "  " + c.Compared()
			}
			if metric == "bytes_table" {
				for _, index := range []string{"bytes_primary", "bytes_secondary"} {
					if f, ok := g.Figure(kind, index); ok {
						one.Part += f.Median
						parts = parts || f.Median < one.Value
					}
				}
			}
			bars, label = append(bars, one), ""
		}
	}
	legend := ""
	if len(groups) > 1 {
		legend = "upper: one process, lower: " + several(groups[1]) + "\n"
	}
	if parts {
		legend += "full colour: indexes, pale: rows"
	}
	return chart.Bars(title, legend, bars)
}

// firstKinds are those of the first pictures and of a README.
var firstKinds = []string{"auto", "snowflake", "snowflake-clustered", "uuidv7", "uuidv4", "uuidv4-text"}

// first returns the inserts that a reader asks about first: of one process, and of several if they are measured, with 10
// rows a statement if possible.
func (r Report) first(engine string) (groups []measure.Group) {
	if one, ok := r.main(engine, "load", "bytes_table"); ok {
		groups = append(groups, one)
	}
	if many, ok := r.main(engine, "clients", "bytes_table"); ok && len(groups) > 0 {
		for _, g := range r.groups(engine, "clients") {
			if g.Params.Get("batch") == "10" {
				many = g
			}
		}
		groups = append(groups, many)
	}
	return groups
}

// several tells who inserts in the second group of first: "8 processes, 10 rows a statement".
func several(g measure.Group) string {
	return fmt.Sprintf("%s processes, %s rows a statement", g.Params.Get("clients"), document.Number(number(g.Params.Get("batch")), 0))
}

// curves draws a metric at each size of the table; false if there are no points.
func (r Report) curves(g measure.Group, metric string) (chart.Chart, bool) {
	var curves []chart.Curve
	for _, kind := range g.Kinds {
		one := chart.Curve{Label: kindTitle(kind), Class: family(kind)}
		for _, m := range g.Metrics { // in the order of the points
			base, point, _ := strings.Cut(m.Name, "@")
			if f, ok := g.Figure(kind, m.Name); ok && base == metric {
				one.Points = append(one.Points, [2]float64{number(point), f.Median})
			}
		}
		if len(one.Points) > 1 && kind != measure.Again {
			curves = append(curves, one)
		}
	}
	if len(curves) == 0 {
		return chart.Chart{}, false
	}
	title := measure.Find(metric).Title
	return chart.Lines(strings.ToUpper(title[:1])+title[1:], "rows in the table", curves), true
}

// table is the figures of a group.
type table struct {
	Title string
	Heads []string
	Rows  [][]cell // the first cell has the row's name
}

// table returns the figures of a group: a row for each kind, or for each size of the table and metric of a curve.
func (r Report) table(g measure.Group) table {
	names, heads, curve := titles(g.Kinds), []string(nil), false
	for _, m := range g.Metrics {
		title := m.Title
		if _, point, ok := strings.Cut(m.Name, "@"); ok {
			curve = true
			title += ", " + document.Short(number(point)) + " rows"
		}
		heads = append(heads, title)
	}
	if curve {
		names, heads = heads, names
	}
	t := table{Title: r.title(g.Engine) + ", " + caseText(g.Params), Heads: heads}
	for i, name := range names {
		row := []cell{{Value: name}}
		for j := range heads {
			kind, metric := i, j
			if curve {
				kind, metric = j, i
			}
			row = append(row, r.cell(g, g.Kinds[kind], g.Metrics[metric].Name))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
