package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// firstKinds are the kinds of the picture and of a README.
var firstKinds = key.Find([]string{"auto", "snowflake", "snowflake-clustered", "uuidv7", "uuidv4", "uuidv4-text"})

// WriteDocs writes the figures of a README: bytes.svg, with a chart for each database, and table.md.
func (r Report) WriteDocs(dir string) error {
	var charts []chart.Chart
	for _, engine := range r.engines() {
		if groups := r.first(engine); len(groups) > 0 {
			charts = append(charts, r.chart(engine, groups))
		}
	}
	if len(charts) == 0 {
		return errors.New("the charts of a README show the sizes of the scenario load, which this report does not have")
	}

	return writeFiles(dir, map[string]string{
		"table.md": r.docsTables(), "bytes.svg": chart.SVG("Bytes a row by kind of primary key", charts...),
	})
}

// first returns the inserts that a reader asks about first: of one client, and of several if they are measured.
func (r Report) first(engine string) []measure.Group {
	groups := r.groups(engine, "load", single...)
	if len(groups) == 0 || engine == "postgres18" { // it is like the other PostgreSQL
		return nil
	}
	return append(groups, r.groups(engine, "clients", several...)...)
}

// clientsOf says who inserts: "one client" or "8 clients".
func clientsOf(g measure.Group) string {
	if clients := g.Params.Get("clients"); clients != "" {
		return clients + " clients"
	}
	return "one client"
}

// chart draws the bytes a row, a bar for each kind and group. The part of a table that its indexes take has the full
// colour.
func (r Report) chart(engine string, groups []measure.Group) chart.Chart {
	var bars []chart.Bar
	legend := ""
	for _, k := range firstKinds {
		label := k.Title
		for _, g := range groups {
			f, ok := g.Figure(k.Name, "bytes_table")
			if !ok {
				continue
			}

			c := r.cell(g, k.Name, "bytes_table")
			index, hasIndex := g.Figure(k.Name, "bytes_primary")
			one := chart.Bar{
				Label: label, Class: k.Class, Text: c.value, Ratio: c.ratio, Sign: c.sign,
				Value: f.Median, Part: index.Median,
			}
			if k.Name == baseline && len(groups) > 1 {
				one.Note = clientsOf(g)
			}
			if hasIndex {
				legend = "full colour: indexes, pale: rows"
			}

			bars, label = append(bars, one), ""
		}
	}

	return chart.Bars(r.title(engine)+": bytes a row", legend, bars)
}

// docsTables returns the bytes a row, then the insert rates, with a row for each kind and a column for each group.
func (r Report) docsTables() string {
	var columns []measure.Group
	var heads []string
	for _, engine := range r.engines() {
		for i, g := range r.first(engine) {
			head := r.title(engine) + ", " + clientsOf(g)
			hasSeveralClients := i > 0
			if hasSeveralClients {
				head = clientsOf(g) + ", 10 rows a statement"
			}
			heads, columns = append(heads, head), append(columns, g)
		}
	}

	sizes := [][]string{append([]string{"Bytes a row"}, heads...)}
	for _, k := range firstKinds {
		row := []string{k.Title}
		for _, g := range columns {
			row = append(row, strings.Replace(r.cell(g, k.Name, "bytes_table").text(), " B", "", 1))
		}
		sizes = append(sizes, row)
	}

	rates := [][]string{append([]string{"Insert rate"}, heads...)}
	for _, k := range firstKinds {
		if k.Name == baseline {
			continue
		}

		row := []string{k.Title}
		for _, g := range columns {
			row = append(row, r.cell(g, k.Name, "rate").compared())
		}
		rates = append(rates, row)
	}

	return fmt.Sprintf("%s\n%s\n%s; the table has its primary key and no other index.\n"+
		"Ratios are to %s, which is measured beside each key:\n%s.\n", document.Table(sizes), document.Table(rates),
		caseText(columns[0].Params), kindTitle(baseline), signs)
}
