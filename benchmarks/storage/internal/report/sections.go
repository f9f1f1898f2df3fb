package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// Section is a scenario of a report.
type Section struct {
	ID, Title, Question string
	Engines             []Block
}

// Block is a scenario on one engine.
type Block struct {
	Engine string // title, not name
	Charts []Said
	Tables []Table
}

// Said is a chart with its sentences.
type Said struct {
	Chart
	Text []string // sentences
}

// Sections returns the charts and tables of all scenarios in the order of reports.
func (r Report) Sections() []Section {
	var sections []Section
	last := ""
	for _, groups := range r.parts() {
		s := scenarioOf(groups[0].Scenario)
		if s.Name != last || len(sections) == 0 {
			last = s.Name
			sections = append(sections, Section{ID: "s-" + identifier(s.Name), Title: s.Title, Question: s.Question})
		}
		section := &sections[len(sections)-1]
		section.Engines = append(section.Engines, r.block(groups))
	}
	return sections
}

// block makes the charts and tables of one scenario on one engine.
func (r Report) block(groups []measure.Group) Block {
	b := Block{Engine: engineTitle(groups[0].Engine)}
	prefix := identifier(groups[0].Scenario + "-" + groups[0].Engine)
	add := func(c Chart, ok bool, text []string) {
		if ok {
			b.Charts = append(b.Charts, Said{c, text})
		}
	}
	id := func() string { return prefix + "-" + strconv.Itoa(len(b.Charts)+1) }
	if disordered(groups) {
		all := grids(groups, "density")
		for _, kind := range slices.Sorted(maps.Keys(all)) {
			heading, subject := gridTitle(groups[0].Engine, kind), "On "+b.Engine+" "
			if kind != "" {
				subject += "with " + kindTitle(kind) + " "
			}
			c, ok := heatChart(id(), heading, all[kind])
			add(c, ok, gridProse(all[kind], subject))
			b.Tables = append(b.Tables, all[kind].table(heading))
		}
		return b
	}
	for _, g := range groups {
		b.Tables = append(b.Tables, r.table(g, g.Metrics))
	}
	if styled(groups) {
		r.graphCharts(groups, add, id)
		return b
	}
	for _, g := range groups {
		for _, base := range []string{"rate", "written", "log", "reads"} {
			if hasPoints(g, base) && (base != "log" || !hasPoints(g, "written")) {
				c, ok := lineChart(id(), g, base)
				add(c, ok, curveProse(g, base, r.Baseline))
			}
		}
		if largest(g, groups) {
			c, ok := stackChart(id(), g, g.Kinds, r.Baseline)
			add(c, ok, sizeProse(g, r.Baseline))
		}
		for _, name := range ratioCharts(g, r.Baseline) {
			c, ok := ratioChart(id(), g, name, g.Kinds, r.Baseline)
			text := prose(g, name, r.Baseline)
			if name == "range_key" {
				text = append(text, timeInKey(g)...)
			}
			add(c, ok, text)
		}
		for _, name := range []string{"log", "round_trips", "time", "vacuum", "freed_share", "pages_key"} {
			if wanted(g, name) && (name != "log" || largest(g, groups)) {
				c, ok := valueChart(id(), g, name, r.Baseline)
				text := valueProse(g, measure.Find(name))
				if hasRatio(measure.Find(name)) {
					text = prose(g, name, r.Baseline)
				}
				add(c, ok, text)
			}
		}
	}
	return b
}

// disordered reports whether the groups are about the order of arrival.
func disordered(groups []measure.Group) bool {
	return len(groups) > 1 && slices.ContainsFunc(groups, func(g measure.Group) bool {
		return g.Params.Get("skew") != "" || g.Params.Get("lag") != ""
	})
}

// wanted reports whether a metric is among the columns of its scenario, or the scenario has no columns of its own.
func wanted(g measure.Group, metric string) bool {
	names := columns[g.Scenario]
	return names == nil || slices.Contains(names, metric)
}

// ratioCharts returns the metrics to draw as ratios: the rate, or the wait if that is first.
func ratioCharts(g measure.Group, baseline string) []string {
	if g.Scenario == "read" {
		return []string{"lookup", "join", "range_key"}
	}
	for _, m := range columnsOf(g, baseline) {
		switch m.Name {
		case "p50":
			return []string{"p50"}
		case "rate":
			if !hasPoints(g, "rate") {
				return []string{"rate"}
			}
		}
	}
	return nil
}

// largest reports whether a group's sizes add something to those of a larger table in the same scenario.
func largest(g measure.Group, groups []measure.Group) bool {
	rows := func(g measure.Group) int {
		n, _ := strconv.Atoi(g.Params.Get("rows"))
		return n
	}
	for _, other := range groups {
		if rows(other) > rows(g) {
			return false
		}
		if same := rows(other) == rows(g) && other.Params.Get("bulk") == "" && g.Params.Get("bulk") != ""; same {
			return false
		}
	}
	return true
}

// sizeProse describes the tree in which the kinds differ: secondary indexes if there are any, the index of the key if
// the baseline and the focus have one, else the rows.
func sizeProse(g measure.Group, baseline string) []string {
	if _, ok := g.Figure(baseline, "bytes_secondary"); ok {
		sentences := prose(g, "bytes_secondary", baseline)
		whole, ok := g.Figure(focus, "bytes_table")
		if base, ok2 := g.Figure(baseline, "bytes_table"); ok && ok2 && verdictOf(whole) != unknown && baseline != focus {
			sentences = append(sentences, "With the rows: "+lower(aboutFocus(whole, base)))
		}
		return sentences
	}
	_, us := g.Figure(focus, "bytes_primary")
	if _, ok := g.Figure(baseline, "bytes_primary"); ok && (us || !slices.Contains(g.Kinds, focus)) {
		return prose(g, "bytes_primary", baseline)
	}
	return prose(g, "bytes_table", baseline)
}

// identifier turns a name into an HTML identifier.
func identifier(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '-'
	}, strings.ToLower(name))
}

// Table is a group in cells.
type Table struct {
	Title  string
	Corner string // above the names of the rows
	Heads  []string
	Rows   []Row
	Notes  []string
}

// Row is a kind with its cells.
type Row struct {
	Kind  string
	Cells []cell
}

// Text returns a cell as one text: "22.5, 1.00x =".
func (c cell) Text() string {
	text := c.Value
	if c.Ratio != "" && c.Ratio != "1" {
		text += " (" + c.Ratio
		if c.Mark != "" {
			text += " " + string(c.Mark)
		}
		text += ")"
	}
	return text
}

func (r Report) table(g measure.Group, metrics []measure.Metric) Table {
	t := Table{Title: engineTitle(g.Engine) + ", " + paramText(g.Params), Corner: "Key", Notes: notes(g, r.Baseline)}
	for _, m := range metrics {
		t.Heads = append(t.Heads, strings.ReplaceAll(heading(m), "\n", " "))
	}
	for _, kind := range g.Kinds {
		row := Row{Kind: kindTitle(kind)}
		for _, m := range metrics {
			one := cell{Value: "-"}
			if f, ok := g.Figure(kind, m.Name); ok {
				one = cellOf(f, r.Baseline)
			}
			row.Cells = append(row.Cells, one)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
