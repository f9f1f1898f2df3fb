package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
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
	return writeFiles(dir, []file{
		{"bytes.svg", func(w io.Writer) error { return r.writeCharts(w, "bytes a row", "bytes_table", groups) }},
		{"rate.svg", func(w io.Writer) error { return r.writeCharts(w, "rows a second", "rate", groups) }},
		{"table.md", func(w io.Writer) error { return r.writeDocsTable(w, groups) }},
	})
}

// writeCharts writes one SVG with a chart for each group, below each other.
func (r Report) writeCharts(w io.Writer, title, metric string, groups []measure.Group) error {
	all := chart{Title: title + " by kind of primary key", Width: barsWidth + 20, Height: 10}
	for _, g := range groups {
		kinds := slices.DeleteFunc(slices.Clone(docsKinds), func(kind string) bool { return !slices.Contains(g.Kinds, kind) })
		c := barChart(r.title(g.Engine)+": "+title, r.bars(g, metric, kinds))
		all.Body += fmt.Sprintf(`<g transform="translate(10 %s)">%s</g>`+"\n", at(all.Height), c.Body)
		all.Text += c.Title + ": " + c.Text + " "
		all.Height += c.Height + 14
	}
	colors, _, _ := strings.Cut(pageStyle, "*{") // variables of the root
	all.Body = fmt.Sprintf("<style>%s</style>\n"+`<rect style="fill:var(--back)" width="%s" height="%s"/>`+"\n%s",
		colors+chartStyle, at(all.Width), at(all.Height), all.Body)
	// A picture without a size fills the width of a README.
	size := fmt.Sprintf(`<svg width="%s" height="%s" `, at(all.Width), at(all.Height))
	_, err := io.WriteString(w, strings.Replace(all.SVG("title"), "<svg ", size, 1)+"\n")
	return err
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
		tableText(rows), notes.String(), kindTitle(r.Baseline), "▼ worse, ▲ better, = no difference shown, ~ not certain, ? too few rounds")
	return err
}
