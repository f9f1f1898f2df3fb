package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// WriteText writes a table for each case, for a terminal.
func (r Report) WriteText(w io.Writer) error {
	last := ""
	for _, g := range r.Groups {
		if s := scenarioOf(g.Scenario); s.Name != last {
			last = s.Name
			fmt.Fprintf(w, "%s\n%s\n\n", s.Title, s.Question)
		}
		t := r.table(g)
		fmt.Fprintln(w, t.title)
		columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, name := range append([]string{""}, t.heads...) {
			name, _, _ = strings.Cut(name, ", bytes a row")
			fmt.Fprint(columns, name, "\t")
		}
		fmt.Fprintln(columns)
		for _, row := range t.rows {
			for _, c := range row {
				fmt.Fprint(columns, c.text(), "\t")
			}
			fmt.Fprintln(columns)
		}
		if err := columns.Flush(); err != nil {
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

// table is the figures of a group.
type table struct {
	title string
	heads []string
	rows  [][]cell // the first cell has the row's name
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
	t := table{title: r.title(g.Engine) + ", " + caseText(g.Params), heads: heads}
	for i, name := range names {
		row := []cell{{value: name}}
		for j := range heads {
			kind, metric := i, j
			if curve {
				kind, metric = j, i
			}
			row = append(row, r.cell(g, g.Kinds[kind], g.Metrics[metric].Name))
		}
		t.rows = append(t.rows, row)
	}
	return t
}
