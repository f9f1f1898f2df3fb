package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// docsKinds are the kinds of keys in a README.
var docsKinds = []string{"auto", "snowflake", "uuidv7", "uuidv4", "uuidv4-text"}

// WriteDocs writes the figures of a README: bytes.svg and rate.svg, with a chart for each database, and table.md.
func (r Report) WriteDocs(dir string) error {
	var groups []measure.Group
	for _, engine := range r.engines() {
		if g, ok := r.group(engine, "load", ""); ok {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		return errors.New("the charts of a README show the sizes of the scenario load, which this report does not have")
	}
	return document.WriteFiles(dir, map[string]func(io.Writer) error{
		"bytes.svg": func(w io.Writer) error { return r.writeCharts(w, "bytes a row", "bytes_table", groups) },
		"rate.svg":  func(w io.Writer) error { return r.writeCharts(w, "rows a second", "rate", groups) },
		"table.md":  func(w io.Writer) error { return r.writeDocsTable(w, groups) },
	})
}

// writeCharts writes one SVG with a chart for each group, below each other.
func (r Report) writeCharts(w io.Writer, title, metric string, groups []measure.Group) error {
	var all []chart.Chart
	for _, g := range groups {
		kinds := slices.DeleteFunc(slices.Clone(docsKinds), func(kind string) bool { return !slices.Contains(g.Kinds, kind) })
		all = append(all, chart.Bars(r.title(g.Engine)+": "+title, r.bars(g, metric, kinds)))
	}
	return chart.Write(w, title+" by kind of primary key", all...)
}

// writeDocsTable writes a row for each kind, with bytes a row and the rate of inserts for each engine.
func (r Report) writeDocsTable(w io.Writer, groups []measure.Group) error {
	rows := [][]string{{"Key"}}
	for _, kind := range docsKinds {
		rows = append(rows, []string{kindTitle(kind)})
	}
	var notes strings.Builder
	for _, g := range groups {
		rows[0] = append(rows[0], r.title(g.Engine)+", bytes a row", r.title(g.Engine)+", rate of inserts")
		for i, kind := range docsKinds {
			size, _ := r.cell(g, kind, "bytes_table")
			rate, _ := r.cell(g, kind, "rate")
			if kind == r.Baseline {
				rate.Ratio = "1"
			}
			rows[i+1] = append(rows[i+1], size.Text(), strings.TrimSpace(rate.Ratio+" "+rate.Sign))
		}
		fmt.Fprintf(&notes, "* %s: %s, table with its primary key.\n", r.title(g.Engine), caseText(g.Params))
	}
	_, err := fmt.Fprintf(w, "%s\n%s* Rates are ratios to %s, which is measured beside each key: %s.\n",
		document.Table(rows), notes.String(), kindTitle(r.Baseline), "▼ worse, ▲ better, = no difference shown, ~ not certain, ? too few rounds")
	return err
}
