package report

import (
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
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

// compare returns the row of a metric; false for one of little interest. That are inserts of single rows by one client,
// rates of several clients but with 10 rows a statement, and metrics in which no key differs, apart from inserts and curves of
// large tables, which are measured once.
func (r Report) compare(s scenario.Scenario, g measure.Group, metric string) (comparison, bool) {
	base, ok := g.Figure(r.Baseline, metric)
	batch := g.Params.Get("batch")
	if !ok || s.Name == "load" && batch == "1" || s.Name == "clients" && metric == "rate" && batch != "10" {
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
