package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// firstKinds are the kinds of the picture and of a README.
var firstKinds = []string{"auto", "snowflake", "snowflake-clustered", "uuidv7", "uuidv4", "uuidv4-text"}

// WriteDocs writes the figures of a README: bytes.svg, with a chart for each database, and table.md.
func (r Report) WriteDocs(dir string) error {
	charts := r.charts()
	if len(charts) == 0 {
		return errors.New("the charts of a README show the sizes of the scenario load, which this report does not have")
	}
	return writeFiles(dir, map[string]func(io.Writer) error{
		"table.md": r.writeDocsTables,
		"bytes.svg": func(w io.Writer) error {
			return chart.Write(w, "Bytes a row by kind of primary key", charts...)
		},
	})
}

// first returns the inserts that a reader asks about first: of one client, and of several if they are measured, with 10
// rows a statement if possible.
func (r Report) first(engine string) (groups []measure.Group) {
	one, ok := r.main(engine, "load", "bytes_table")
	if !ok || engine == "postgres18" { // it is like the other PostgreSQL
		return nil
	}

	many, ok := r.main(engine, "clients", "bytes_table")
	if !ok {
		return []measure.Group{one}
	}

	for _, g := range r.groups(engine, "clients") {
		if g.Params.Get("batch") == "10" {
			many = g
		}
	}

	return []measure.Group{one, many}
}

// several says who inserts in the second group of first: "8 clients, 10 rows a statement".
func several(g measure.Group) string {
	batch := document.Number(number(g.Params.Get("batch")), 0)
	return fmt.Sprintf("%s clients, %s rows a statement", g.Params.Get("clients"), batch)
}

// clientsOf says who inserts: "one client" or "8 clients".
func clientsOf(g measure.Group) string {
	if clients := g.Params.Get("clients"); clients != "" && clients != "1" {
		return clients + " clients"
	}
	return "one client"
}

// charts returns a chart for each engine with inserts.
func (r Report) charts() []chart.Chart {
	var all []chart.Chart
	for _, engine := range r.engines() {
		if groups := r.first(engine); len(groups) > 0 {
			all = append(all, r.chart(engine, groups))
		}
	}
	return all
}

// chart draws the bytes a row, a bar for each kind and group. The part of a table that its indexes take has the full
// colour.
func (r Report) chart(engine string, groups []measure.Group) chart.Chart {
	var bars []chart.Bar
	parts := false
	for _, kind := range firstKinds {
		label := kindTitle(kind)
		for _, g := range groups {
			f, ok := g.Figure(kind, "bytes_table")
			if !ok {
				continue
			}

			c := r.cell(g, kind, "bytes_table")
			one := chart.Bar{
				Label: label, Class: family(kind), Text: c.value, Ratio: c.ratio, Sign: c.sign, Value: f.Median,
			}
			if kind == firstKinds[0] && len(groups) > 1 {
				one.Note = clientsOf(g)
			}

			for _, index := range []string{"bytes_primary", "bytes_secondary"} {
				if f, ok := g.Figure(kind, index); ok {
					one.Part += f.Median
					parts = parts || f.Median < one.Value
				}
			}

			bars, label = append(bars, one), ""
		}
	}

	legend := ""
	if parts {
		legend = "full colour: indexes, pale: rows"
	}

	return chart.Bars(r.title(engine)+": bytes a row", legend, bars)
}

// family returns the CSS class for the colour of a kind.
func family(name string) string {
	switch {
	case strings.HasSuffix(name, "-text"):
		return "text"
	case strings.HasPrefix(name, "snowflake"):
		return "snow"
	case strings.HasPrefix(name, "uuidv7"):
		return "v7"
	case strings.HasPrefix(name, "uuidv4"):
		return "v4"
	}

	return "auto"
}

// writeDocsTables writes the bytes a row, then the insert rates, with a row for each kind and a column for each group.
func (r Report) writeDocsTables(w io.Writer) error {
	var heads []string
	var columns []measure.Group
	for _, engine := range r.engines() {
		for i, g := range r.first(engine) {
			head := r.title(engine) + ", one client"
			if i > 0 {
				head = several(g)
			}
			heads, columns = append(heads, head), append(columns, g)
		}
	}

	sizes := [][]string{append([]string{"Bytes a row"}, heads...)}
	rates := [][]string{append([]string{"Insert rate"}, heads...)}
	for _, kind := range firstKinds {
		size, rate := []string{kindTitle(kind)}, []string{kindTitle(kind)}
		for _, g := range columns {
			size = append(size, strings.Replace(r.cell(g, kind, "bytes_table").text(), " B", "", 1))
			rate = append(rate, r.cell(g, kind, "rate").compared())
		}

		sizes = append(sizes, size)
		if kind != r.Baseline {
			rates = append(rates, rate)
		}
	}

	_, err := fmt.Fprintf(w, "%s\n%s\n%s; the table has its primary key and no other index.\n"+
		"Ratios are to %s, which is measured beside each key:\n%s.\n", document.Table(sizes), document.Table(rates),
		caseText(columns[0].Params), kindTitle(r.Baseline), signs)
	return err
}
