package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// columns are those of summary.csv, and the names in summary.json.
var columns = []string{
	"engine", "scenario", "params", "kind", "metric", "unit", "more_is_better",
	"n", "median", "low", "high", "ratio", "p", "verdict",
}

// figures returns a line for each figure, with the values of columns. Unknown numbers are nil.
func (r Report) figures() [][]any {
	known := func(v float64) any {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 8, 64), 64) // more than a measurement has
		return v
	}
	var all [][]any
	for _, g := range r.Groups {
		for _, kind := range g.Kinds {
			for _, m := range g.Metrics {
				if f, ok := g.Figure(kind, m.Name); ok {
					all = append(all, []any{
						g.Engine, g.Scenario, g.Params.String(), kind, m.Name, f.Metric.Unit, f.Metric.More, f.N,
						known(f.Median), known(f.Low), known(f.High), known(f.Ratio), known(f.P), f.Verdict.String(),
					})
				}
			}
		}
	}
	return all
}

// WriteJSON writes the environment, all figures and the notes.
func (r Report) WriteJSON(w io.Writer) error {
	figures := []map[string]any{}
	for _, line := range r.figures() {
		one := map[string]any{}
		for i, name := range columns {
			one[name] = line[i]
		}
		figures = append(figures, one)
	}
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	return out.Encode(map[string]any{
		"environment": r.Environment, "baseline": r.Baseline, "figures": figures, "notes": r.Notes, "unfinished": r.Unfinished,
	})
}

// WriteCSV writes a line for each figure. Unknown numbers are empty.
func (r Report) WriteCSV(w io.Writer) error {
	rows := [][]string{columns}
	for _, line := range r.figures() {
		row := make([]string, len(line))
		for i, v := range line {
			if v != nil {
				row[i] = fmt.Sprint(v)
			}
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// WriteText writes a table for each case, for a terminal.
func (r Report) WriteText(w io.Writer) error {
	last := ""
	for _, g := range r.Groups {
		if s := scenarioOf(g.Scenario); s.Name != last {
			last = s.Name
			fmt.Fprintf(w, "%s\n%s\n\n", s.Title, s.Question)
		}
		t := r.table(g)
		fmt.Fprintln(w, t.Title)
		columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, name := range append([]string{""}, t.Heads...) {
			name, _, _ = strings.Cut(name, ", bytes a row")
			fmt.Fprint(columns, name, "\t")
		}
		fmt.Fprintln(columns)
		for _, row := range t.Rows {
			for _, c := range row {
				fmt.Fprint(columns, c.Text(), "\t")
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

// WriteFolder writes index.html, RESULTS.md, summary.csv and summary.json into a folder and replaces existing ones.
func (r Report) WriteFolder(dir string) error {
	return document.WriteFiles(dir, map[string]func(io.Writer) error{
		"index.html":   r.WriteHTML,
		"RESULTS.md":   r.WriteMarkdown,
		"summary.csv":  r.WriteCSV,
		"summary.json": r.WriteJSON,
	})
}

// WriteDocs writes the figures of a README: bytes.svg, with a chart for each database, and table.md.
func (r Report) WriteDocs(dir string) error {
	var charts []chart.Chart
	heads, columns := []string{}, []measure.Group{}
	for _, engine := range r.engines() {
		groups := r.first(engine)
		if len(groups) == 0 || engine == "postgres18" {
			continue
		}
		charts = append(charts, r.bars(r.title(engine)+": bytes a row", "bytes_table", firstKinds, groups...))
		columns, heads = append(columns, groups...), append(heads, r.title(engine)+", one process")
		if len(groups) > 1 {
			heads = append(heads, several(groups[1]))
		}
	}
	if len(charts) == 0 {
		return errors.New("the charts of a README show the sizes of the scenario load, which this report does not have")
	}
	return document.WriteFiles(dir, map[string]func(io.Writer) error{
		"bytes.svg": func(w io.Writer) error { return chart.Write(w, "Bytes a row by kind of primary key", charts...) },
		"table.md":  func(w io.Writer) error { return r.writeDocsTables(w, heads, columns) },
	})
}

// writeDocsTables writes the bytes a row, then the insert rates, with a row for each kind and a column for each group.
func (r Report) writeDocsTables(w io.Writer, heads []string, columns []measure.Group) error {
	sizes, rates := [][]string{append([]string{"Bytes a row"}, heads...)}, [][]string{append([]string{"Insert rate"}, heads...)}
	for _, kind := range firstKinds {
		size, rate := []string{kindTitle(kind)}, []string{kindTitle(kind)}
		for _, g := range columns {
			size = append(size, strings.Replace(r.cell(g, kind, "bytes_table").Text(), " B", "", 1))
			rate = append(rate, r.cell(g, kind, "rate").Compared())
		}
		sizes = append(sizes, size)
		if kind != r.Baseline {
			rates = append(rates, rate)
		}
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n%s; the table has its primary key and no other index.\n"+
		"Ratios are to %s, which is measured beside each key:\n%s.\n%s", document.Table(sizes), document.Table(rates),
		caseText(columns[0].Params), kindTitle(r.Baseline), signs, r.graphs())
	return err
}

// graphs tells what a snowflake saves if an order is saved with its lines, "" if that is not measured.
func (r Report) graphs() string {
	var ratios []string
	trips := ""
	for _, engine := range r.engines() {
		for _, g := range r.groups(engine, "graph") {
			c := r.cell(g, "snowflake", "time")
			if g.Params.Get("delay") == "1ms" && c.Ratio != "" {
				ratios = append(ratios, c.Ratio+" ("+r.title(engine)+")")
				trips = r.cell(g, "snowflake", "round_trips").Value + " instead of " + r.cell(g, r.Baseline, "round_trips").Value
			}
		}
	}
	if len(ratios) == 0 {
		return ""
	}
	return fmt.Sprintf("\nWith snowflakes, an order and its lines are saved in %s round trips. 1 ms away from the database\n"+
		"that takes %s the time of %s.\n", trips, strings.Join(ratios, " and "), kindTitle(r.Baseline))
}
