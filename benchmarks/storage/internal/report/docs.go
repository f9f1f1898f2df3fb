package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// docsKinds are the kinds of keys in a README.
var docsKinds = []string{"auto", "snowflake", "uuidv7", "uuidv4", "uuidv4-text"}

// WriteDocs writes the figures of a README: bytes.svg and rate.svg, with one chart per database, and table.md.
func (r Report) WriteDocs(dir string) error {
	groups := r.loads()
	if len(groups) == 0 {
		return errors.New("the charts of a README show the sizes of the scenario load, which this report does not have")
	}
	return writeFiles(dir, []file{
		{"bytes.svg", func(w io.Writer) error {
			return writePictures(w, "Bytes a row, by kind of primary key", groups, func(id string, g measure.Group) (Chart, bool) {
				return stackChart(id, g, shown(g), r.Baseline)
			})
		}},
		{"rate.svg", func(w io.Writer) error {
			draw := func(id string, g measure.Group) (Chart, bool) { return ratioChart(id, g, "rate", shown(g), r.Baseline) }
			return writePictures(w, "Rate of inserts, by kind of primary key", groups, draw)
		}},
		{"table.md", func(w io.Writer) error { return r.writeDocsTable(w, groups) }},
	})
}

// loads returns the largest load of each engine by INSERT, with most rows a statement.
func (r Report) loads() []measure.Group {
	best := map[string]measure.Group{}
	var engines []string
	larger := func(a, b measure.Group) bool {
		number := func(g measure.Group, name string) int { n, _ := strconv.Atoi(g.Params.Get(name)); return n }
		return cmp.Or(number(a, "rows")-number(b, "rows"), number(a, "batch")-number(b, "batch")) > 0
	}
	for _, g := range r.Groups {
		if g.Scenario != "load" || g.Params.Get("batch") == "" {
			continue
		}
		old, ok := best[g.Engine]
		if !ok {
			engines = append(engines, g.Engine)
		}
		if !ok || larger(g, old) {
			best[g.Engine] = g
		}
	}
	var groups []measure.Group
	for _, name := range engines {
		groups = append(groups, best[name])
	}
	return groups
}

func shown(g measure.Group) []string {
	return slices.DeleteFunc(slices.Clone(docsKinds), func(kind string) bool { return !slices.Contains(g.Kinds, kind) })
}

// writePictures writes one SVG with the charts of the groups below each other.
func writePictures(
	w io.Writer, heading string, groups []measure.Group, draw func(id string, g measure.Group) (Chart, bool),
) error {
	var b strings.Builder
	var desc []string
	height := 8.0
	for _, g := range groups {
		c, ok := draw("c-"+identifier(g.Engine), g)
		if !ok {
			continue
		}
		s := &svg{}
		s.text("heading", "start", 4, height+16, c.Title)
		// A nested SVG needs a position and a size.
		inner := strings.Replace(c.SVG, "<svg ", fmt.Sprintf(`<svg y="%s" width="%d" height="%s" `,
			coordinate(height+26), chartWidth, coordinate(heightOf(c))), 1)
		b.WriteString(s.b.String() + inner + "\n")
		height += 26 + heightOf(c) + 12
		desc = append(desc, c.Title+": "+c.Desc)
	}
	if len(desc) == 0 {
		return errors.New("no figures for " + heading)
	}
	s := &svg{id: "all", height: height}
	s.b.WriteString("<style>" + chartStyle + ".chart .heading{font-weight:600}.chart .back{fill:var(--paper)}</style>\n")
	s.rect("back", 0, 0, chartWidth, height, "")
	s.b.WriteString(b.String())
	_, err := io.WriteString(w, s.chart(heading, desc).SVG+"\n")
	return err
}

// heightOf reads the height of a chart from its viewBox.
func heightOf(c Chart) float64 {
	_, box, _ := strings.Cut(c.SVG, `viewBox="`)
	box, _, _ = strings.Cut(box, `"`)
	fields := strings.Fields(box)
	if len(fields) != 4 {
		return 0
	}
	height, _ := strconv.ParseFloat(fields[3], 64)
	return height
}

// writeDocsTable writes a row per kind, with bytes a row and rate of inserts for each engine.
func (r Report) writeDocsTable(w io.Writer, groups []measure.Group) error {
	head := []string{"Key"}
	for _, g := range groups {
		head = append(head, engineTitle(g.Engine)+", bytes a row", engineTitle(g.Engine)+", rate of inserts")
	}
	rows := [][]string{head}
	for _, kind := range docsKinds {
		row, any := []string{kindTitle(kind)}, false
		for _, g := range groups {
			row = append(row, docsCell(g, kind, "bytes_table", r.Baseline), docsCell(g, kind, "rate", r.Baseline))
			any = any || slices.Contains(g.Kinds, kind)
		}
		if any {
			rows = append(rows, row)
		}
	}
	var b strings.Builder
	writeTable(&b, rows, 1, len(head))
	for _, g := range groups {
		fmt.Fprintf(&b, "* %s: %s, table with its primary key; %s rounds.\n",
			engineTitle(g.Engine), paramText(g.Params), number(float64(rounds(g)), 0))
	}
	fmt.Fprintf(&b, "* Rates are ratios to %s in the same round; `=` is a tie, `~` is too noisy to quote, `?` has too few rounds.\n",
		plainText.Replace(kindTitle(r.Baseline)))
	_, err := io.WriteString(w, b.String())
	return err
}

func docsCell(g measure.Group, kind, metric, baseline string) string {
	f, ok := g.Figure(kind, metric)
	if !ok {
		return "-"
	}
	if metric != "rate" {
		return cellOf(f, baseline).Text()
	}
	if kind == baseline {
		return "1"
	}
	c := cellOf(f, baseline)
	if c.Ratio == "" {
		return "-"
	}
	return strings.TrimSpace(c.Ratio + " " + string(c.Mark))
}
