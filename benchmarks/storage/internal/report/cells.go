package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// signs explains the signs of cells.
const signs = "▼ worse, ▲ better, no sign: no difference shown, ~ not certain, ? too few rounds"

// cell is a figure in a table: its value, its ratio to the baseline, and the sign of its verdict.
type cell struct {
	value, ratio, sign string
	verdict            measure.Verdict
}

func (r Report) cell(g measure.Group, kind, metric string) cell {
	f, ok := g.Figure(kind, metric)
	if !ok {
		return cell{value: "–"}
	}

	c := cell{value: withUnit(f), verdict: f.Verdict}
	if kind == r.Baseline || f.Verdict == measure.Unknown {
		return c
	}

	c.ratio = document.Factor(f.Ratio) + "×"
	c.sign = [...]string{measure.Few: "?", measure.Same: "", measure.Better: "▲", measure.Worse: "▼"}[f.Verdict]
	const much = 1.25 // that a figure seems to differ, although its rounds do not show it
	seemsToDiffer := f.Ratio >= much || f.Ratio <= 1/much
	if f.Verdict == measure.Same && seemsToDiffer {
		c.sign = "~"
	}

	return c
}

// text returns a cell as one text: "22.5 B (1.32×▼)".
func (c cell) text() string {
	if c.ratio == "" {
		return c.value
	}
	return c.value + " (" + c.compared() + ")"
}

// compared returns the ratio and its sign, "" if there is none.
func (c cell) compared() string { return c.ratio + c.sign }

func withUnit(f measure.Figure) string {
	text := document.Number(f.Median, f.Metric.Digits)
	switch f.Metric.Unit {
	case "":
		return text
	case "1/s":
		return text + "/s"
	}
	return text + " " + f.Metric.Unit
}

// sentence sums up the inserts of one process on an engine; "" if they are not measured.
func (r Report) sentence(engine string) string {
	var parts []string
	for _, kind := range []string{"snowflake", "uuidv7", "uuidv4"} {
		g, _ := r.main(engine, "load", "bytes_table")
		size, rate := r.cell(g, kind, "bytes_table"), r.cell(g, kind, "rate")
		if kind == r.Baseline || size.ratio == "" {
			continue
		}

		text := fmt.Sprintf("%s takes %s the bytes", kindTitle(kind), size.ratio)
		if rate.verdict >= measure.Same {
			text += fmt.Sprintf(" and is inserted at %s the rate", rate.ratio)
			switch {
			case rate.sign == "~":
				text += " (not certain)"
			case rate.verdict == measure.Same:
				text += " (no difference shown)"
			}
		}

		parts = append(parts, text)
	}

	if len(parts) == 0 {
		return ""
	}

	text := fmt.Sprintf("Compared with %s, %s.", kindTitle(r.Baseline), strings.Join(parts, "; "))
	return strings.Replace(text, "snowflake takes", "a snowflake takes", 1)
}

// caseText formats parameters: "200,000 rows, 1,000 a statement". It leaves out those named.
func caseText(p measure.Params, without ...string) string {
	var parts []string
	for _, param := range p {
		if !slices.Contains(without, param.Name) {
			parts = append(parts, paramText(param))
		}
	}
	return strings.Join(parts, ", ")
}

var paramForms = map[string]string{
	"batch": "# a statement", "delay": "# to the server", "by": "by #", "pace": "# rows/s each",
}

func paramText(p measure.Setting) string {
	value := p.Value
	if n, err := strconv.Atoi(value); err == nil {
		value = document.Number(float64(n), 0)
	}

	if form, ok := paramForms[p.Name]; ok {
		return strings.Replace(form, "#", value, 1)
	}
	if one, ok := strings.CutSuffix(p.Name, "s"); ok { // rows, parents, clients, graphs
		if value == "1" {
			return "1 " + one
		}
		return value + " " + p.Name
	}

	return p.Name + " " + value
}

// settingText lists settings: "cores 2, memory 23.5 GiB".
func settingText(list []measure.Setting) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = s.Name + " " + s.Value
	}
	return strings.Join(parts, ", ")
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

func titles(kinds []string) []string {
	all := make([]string, len(kinds))
	for i, kind := range kinds {
		all[i] = kindTitle(kind)
	}
	return all
}

// WriteText writes a table for each case, for a terminal.
func (r Report) WriteText(w io.Writer) error {
	last := ""
	for _, g := range r.Groups {
		if s := scenarioOf(g.Scenario); s.Name != last {
			last = s.Name
			fmt.Fprintf(w, "%s\n%s\n\n", s.Title, s.Question)
		}

		fmt.Fprintf(w, "%s, %s\n", r.title(g.Engine), caseText(g.Params))
		if err := document.WriteText(w, r.table(g)); err != nil {
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

// table returns the figures of a group: a row for each kind and a column for each metric. A curve has a column for each
// kind, and a row for each size of the table.
func (r Report) table(g measure.Group) [][]string {
	head, curve := []string{""}, false
	for _, m := range g.Metrics {
		title, _, _ := strings.Cut(m.Title, ", bytes a row")
		if _, point, ok := strings.Cut(m.Name, "@"); ok {
			curve = true
			title = m.Title + ", " + document.Short(number(point)) + " rows"
		}
		head = append(head, title)
	}

	rows := [][]string{head}
	for _, kind := range g.Kinds {
		row := []string{kindTitle(kind)}
		for _, m := range g.Metrics {
			row = append(row, r.cell(g, kind, m.Name).text())
		}
		rows = append(rows, row)
	}

	if curve {
		return transpose(rows)
	}
	return rows
}

// transpose returns the columns of a table as rows.
func transpose(rows [][]string) [][]string {
	columns := make([][]string, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			columns[i] = append(columns[i], text)
		}
	}

	return columns
}
