package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// view says what is shown of a scenario. An entry is a metric, or several of which the first that the baseline has counts,
// and the cases: those with a parameter, * for all, and the largest with a verdict if there is none.
type view struct {
	draw, compare []string // nothing to compare: what is drawn
	lines         bool     // the metrics are curves: "rate@1000", "rate@2000"
	cases         bool     // the cases are compared, kind by kind, not the kinds
}

var views = map[string]view{
	"load":      {draw: []string{"bytes_table", "rate"}, compare: []string{"bytes_primary|bytes_table *", "rate *"}},
	"clients":   {draw: []string{"bytes_table *", "rate *"}, compare: []string{"bytes_primary|bytes_table *", "rate *"}},
	"children":  {draw: []string{"bytes_table", "rate *"}, compare: []string{"bytes_secondary|bytes_table", "rate *"}},
	"commit":    {draw: []string{"p50 *"}},
	"arrival":   {draw: []string{"density fill=90"}, cases: true},
	"read":      {draw: []string{"lookup", "join", "range_key", "pages_key"}},
	"graph":     {draw: []string{"time delay=1ms"}},
	"retention": {draw: []string{"vacuum|time", "log", "freed_share"}, compare: []string{"time", "vacuum", "log"}},
	"gorm":      {draw: []string{"bytes_table", "rate *"}},
	"grow":      {draw: []string{"rate", "reads|written"}, compare: []string{"rate"}, lines: true},
	"update":    {draw: []string{"log *"}},
	"mixed":     {draw: []string{"operations", "p99"}},
	"change":    {draw: []string{"bytes_primary|bytes_table", "bytes_added"}, compare: []string{"bytes_added"}},
	"maintain": {
		draw:    []string{"bytes_table", "rebuilt_table", "rebuilt_later", "dump_gzip"},
		compare: []string{"rebuilt_later", "dump_gzip"},
	},
	"ranges":     {draw: []string{"pages *", "remove *"}, compare: []string{"pages by=key", "remove by=key"}, cases: true},
	"partitions": {draw: []string{"lookup_factor *", "foreign_index *", "drop_factor *"}, cases: true},
	"replica":    {draw: []string{"replica", "log"}, compare: []string{"replica"}},
	"serverkeys": {draw: []string{"bytes_primary", "rate"}},
}

// viewOf returns the view of a scenario. An unlisted one shows all cases and the first metrics.
func viewOf(groups []measure.Group) view {
	const most = 3
	v, ok := views[groups[0].Scenario]
	if !ok {
		for _, m := range groups[0].Metrics[:min(most, len(groups[0].Metrics))] {
			v.draw = append(v.draw, m.Name+" *")
		}
	}
	if v.compare == nil {
		v.compare = v.draw
	}
	return v
}

// find returns the groups and the metric of an entry of a view.
func (r Report) find(groups []measure.Group, entry string) ([]measure.Group, string) {
	names, where, _ := strings.Cut(entry, " ")
	var metric string
	for name := range strings.SplitSeq(names, "|") {
		has := func(g measure.Group) bool { // the baseline has it: SQLite has an index of the key for some kinds only
			return slices.ContainsFunc(g.Metrics, func(m measure.Metric) bool {
				base, _, _ := strings.Cut(m.Name, "@")
				_, ok := g.Figure(r.Baseline, m.Name)
				return base == name && (ok || !slices.Contains(g.Kinds, r.Baseline))
			})
		}
		if metric == "" && slices.ContainsFunc(groups, has) {
			metric = name
		}
	}
	param, _, _ := strings.Cut(where, "=")
	exists := func(g measure.Group) bool { return g.Params.Get(param) != "" }
	switch {
	case where == "*", where != "" && !slices.ContainsFunc(groups, exists):
		return groups, metric
	case where == "":
		g, _ := r.judged(groups[0].Engine, groups[0].Scenario, metric)
		return []measure.Group{g}, metric
	}
	return slices.DeleteFunc(slices.Clone(groups), func(g measure.Group) bool {
		return !slices.Contains(strings.Fields(g.Params.String()), where)
	}), metric
}

// pictures returns the charts of one scenario on one engine.
func (r Report) pictures(groups []measure.Group) []chart.Chart {
	var all []chart.Chart
	v := viewOf(groups)
	for _, entry := range v.draw {
		found, metric := r.find(groups, entry)
		if metric == "" {
			continue
		}
		if v.cases {
			all = append(all, r.caseCharts(found, metric)...)
			continue
		}
		for _, g := range found {
			if v.lines {
				all = append(all, r.curveCharts(g, metric)...)
			} else if bars := r.bars(g, metric, g.Kinds); len(bars) > 1 {
				all = append(all, chart.Bars(r.pictureTitle(g, metric), bars))
			}
		}
	}
	return all
}

// pictureTitle names the metric and the case, without the number of rows of the largest case.
func (r Report) pictureTitle(g measure.Group, metric string) string {
	title, hidden := measure.Find(metric).Title, []string{"graphs", "parents"}
	if most, _ := r.group(g.Engine, g.Scenario, ""); most.Params.Get("rows") == g.Params.Get("rows") {
		hidden = append(hidden, "rows")
	}
	if what := caseText(g.Params, hidden...); what != "" {
		title += "; " + what
	}
	return strings.ToUpper(title[:1]) + title[1:]
}

// bars returns a bar for each kind that has the metric. The part of a table that its indexes take is drawn in full
// colour.
func (r Report) bars(g measure.Group, metric string, kinds []string) []chart.Bar {
	var bars []chart.Bar
	for _, kind := range kinds {
		c, ok := r.cell(g, kind, metric)
		if !ok || kind == measure.Again {
			continue
		}
		one := chart.Bar{
			Label: barLabel(kindTitle(kind), len(bars) > 0), Class: family(kind),
			Value: c.Figure.Median, Text: withUnit(c.Figure.Metric, c.Figure.Median),
		}
		if c.Ratio != "" {
			one.Text += "  " + c.Ratio + " " + c.Sign
		}
		if metric == "bytes_table" {
			for _, index := range []string{"bytes_primary", "bytes_secondary"} {
				if f, ok := g.Figure(kind, index); ok {
					one.Part += f.Median
				}
			}
		}
		bars = append(bars, one)
	}
	return bars
}

// barLabel shortens the title of a kind, so that its bar has room. Variants are below the bar of their kind.
func barLabel(title string, below bool) string {
	for _, kind := range []string{"snowflake", "auto-increment"} {
		if variant, ok := strings.CutPrefix(title, kind); ok && below && variant != "" {
			short, _, _ := strings.Cut(strings.TrimLeft(variant, ", "), ", ")
			return "… " + short
		}
	}
	return strings.TrimSuffix(title, ", numbers never reused")
}

// caseCharts draws a chart for each kind but the baseline, with a bar for each case.
func (r Report) caseCharts(groups []measure.Group, metric string) []chart.Chart {
	var all []chart.Chart
	for _, kind := range groups[0].Kinds {
		if kind == r.Baseline || kind == measure.Again {
			continue
		}
		var bars []chart.Bar
		labels := caseLabels(groups, "rows", "fill", "rate")
		for i, g := range groups {
			for _, one := range r.bars(g, metric, []string{kind}) {
				one.Label = labels[i]
				bars = append(bars, one)
			}
		}
		if len(bars) > 1 {
			all = append(all, chart.Bars(kindTitle(kind)+": "+measure.Find(metric).Title, bars))
		}
	}
	return all
}

// curveCharts draws the metric's values at each size of the table.
func (r Report) curveCharts(g measure.Group, metric string) []chart.Chart {
	var curves []chart.Curve
	for _, kind := range g.Kinds {
		one := chart.Curve{Label: kindTitle(kind), Class: family(kind)}
		for _, m := range g.Metrics {
			if base, point, ok := strings.Cut(m.Name, "@"); ok && base == metric {
				if f, ok := g.Figure(kind, m.Name); ok && parse(point) > 0 && !math.IsNaN(f.Median) {
					one.Points = append(one.Points, [2]float64{parse(point), f.Median})
				}
			}
		}
		slices.SortFunc(one.Points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
		if len(one.Points) > 1 && kind != measure.Again {
			curves = append(curves, one)
		}
	}
	if len(curves) == 0 {
		return nil
	}
	return []chart.Chart{chart.Lines(r.pictureTitle(g, metric), "rows in the table", curves)}
}

// table is figures in cells.
type table struct {
	Title string
	Heads []string
	Names []string // of the metrics
	Rows  []row
}

type row struct {
	Label string
	Cells []cell
}

// table returns the figures of a group.
func (r Report) table(g measure.Group) table {
	t := table{Title: r.title(g.Engine) + ", " + caseText(g.Params)}
	for _, m := range g.Metrics {
		if !strings.Contains(m.Name, "@") {
			t.Heads, t.Names = append(t.Heads, heading(m)), append(t.Names, m.Name)
		}
	}
	for _, kind := range g.Kinds {
		one := row{Label: kindTitle(kind)}
		for i, name := range t.Names {
			one.add(r, g, kind, name, t.Heads[i])
		}
		t.Rows = append(t.Rows, one)
	}
	return t
}

func heading(m measure.Metric) string {
	if m.Unit == "" || m.Unit == "1/s" || strings.Contains(m.Title, "bytes a row") {
		return m.Title
	}
	return m.Title + ", " + m.Unit
}

func (one *row) add(r Report, g measure.Group, kind, metric, head string) {
	c, _ := r.cell(g, kind, metric)
	c.Head = head
	one.Cells = append(one.Cells, c)
}

// tables returns a table for each group, or one for all if there are many, and one for each curve.
func (r Report) tables(groups []measure.Group) []table {
	const many = 4
	var all []table
	labels := caseLabels(groups, "rows", "graphs")
	for i, g := range groups {
		t := r.table(g)
		if len(groups) > many {
			t.Title = r.title(g.Engine) + ", all cases"
			for j := range t.Rows {
				t.Rows[j].Label += ", " + labels[i]
			}
		}
		if i > 0 && len(groups) > many && slices.Equal(t.Heads, all[0].Heads) {
			all[0].Rows = append(all[0].Rows, t.Rows...)
			continue
		}
		if len(t.Heads) > 0 {
			all = append(all, t)
		}
		if viewOf(groups).lines {
			all = append(all, r.curveTables(g, viewOf(groups).draw)...)
		}
	}
	return all
}

// curveTables returns a table for each curve: a row for each size of the table, a column for each kind.
func (r Report) curveTables(g measure.Group, metrics []string) []table {
	var all []table
	for _, metric := range metrics {
		t := table{Title: r.pictureTitle(g, metric)}
		for _, m := range g.Metrics {
			if base, point, ok := strings.Cut(m.Name, "@"); ok && base == metric {
				one := row{Label: document.Short(parse(point)) + " rows"}
				for _, kind := range g.Kinds {
					one.add(r, g, kind, m.Name, kindTitle(kind))
				}
				t.Rows = append(t.Rows, one)
			}
		}
		for _, kind := range g.Kinds {
			t.Heads = append(t.Heads, kindTitle(kind))
		}
		if len(t.Rows) > 0 {
			all = append(all, t)
		}
	}
	return all
}

// compared are the kinds in the table of all scenarios, beside the baseline.
var compared = []string{"snowflake", "snowflake-workers", "uuidv7", "uuidv4", "uuidv4-text"}

// comparison is a row of the table of all scenarios.
type comparison struct {
	Engine, Scenario, Title, What, Base string
	Writers, Rows                       string // "one" or "many", in the cases that a reader can choose; SQLite: "any"
	Cells                               []cell
	order                               float64
}

// comparisons returns the rows of the table for an engine: what a snowflake does worst comes first.
func (r Report) comparisons(engine string) []comparison {
	var all []comparison
	for _, s := range r.scenarios() {
		groups := r.groups(engine, s)
		if len(groups) == 0 {
			continue
		}
		for _, entry := range viewOf(groups).compare {
			found, metric := r.find(groups, entry)
			for _, g := range found {
				if one, ok := r.compare(g, lastPoint(g, metric)); ok {
					all = append(all, one)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b comparison) int { return cmp.Compare(b.order, a.order) })
	return all
}

// lastPoint returns the metric, or its last point if it is a curve.
func lastPoint(g measure.Group, metric string) string {
	point := metric
	for _, m := range g.Metrics {
		if m.Name == metric {
			return metric
		}
		if strings.HasPrefix(m.Name, metric+"@") {
			point = m.Name
		}
	}
	return point
}

func (r Report) compare(g measure.Group, metric string) (comparison, bool) {
	base, ok := g.Figure(r.Baseline, metric)
	if !ok {
		return comparison{}, false
	}
	one := comparison{
		Engine: g.Engine, Scenario: g.Scenario, Title: scenarioOf(g.Scenario).Title, What: r.pictureTitle(g, metric),
		Base: withUnit(base.Metric, base.Median),
	}
	if batch := g.Params.Get("batch"); batch != "" && (g.Scenario == "load" || g.Scenario == "clients") {
		one.Writers, one.Rows = map[string]string{"load": "one", "clients": "many"}[g.Scenario], "many"
		if batch == "1" {
			one.Rows = "one"
		}
		if g.Engine == "sqlite" {
			one.Writers = "any" // one writer at a time
		}
	}
	any := false
	for i, kind := range compared {
		c, _ := r.cell(g, kind, metric)
		c.Head, c.Rule = kindTitle(kind), family(kind)
		any = any || c.Figure.Verdict != measure.Unknown && c.Figure.Verdict != measure.Few
		one.Cells = append(one.Cells, c)
		if i == 0 {
			switch c.Figure.Verdict { // what is not known is last
			case measure.Worse:
				one.order = 2 + cost(c.Figure)
			case measure.Same:
				one.order = 2
			case measure.Better:
				one.order = 1 + cost(c.Figure)
			}
		}
	}
	return one, any
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
