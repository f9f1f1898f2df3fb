package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// signs explains those of cells.
const signs = "▼ worse, ▲ better, = no difference shown, ~ not certain, ? too few rounds"

// mark is a verdict as a class, a sign and a word.
type mark struct{ Class, Sign, Word string }

var marks = map[measure.Verdict]mark{
	measure.Few:    {"few", "?", "too few rounds"},
	measure.Same:   {"same", "=", "no difference shown"},
	measure.Better: {"better", "▲", "better"},
	measure.Worse:  {"worse", "▼", "worse"},
}

// cell is a figure in a table: its value, its ratio to the baseline, and the verdict.
type cell struct {
	Family, Value, Ratio string // Family is that of its kind
	mark
	verdict measure.Verdict
}

func (r Report) cell(g measure.Group, kind, metric string) cell {
	f, ok := g.Figure(kind, metric)
	c := cell{Family: family(kind), Value: "–", verdict: f.Verdict}
	if !ok {
		return c
	}
	c.Value = withUnit(f)
	if kind == r.Baseline || f.Verdict == measure.Unknown {
		return c
	}
	c.Ratio, c.mark = document.Factor(f.Ratio)+"×", marks[f.Verdict]
	const much = 1.25 // that a figure seems to differ, although its rounds do not show it
	if f.Verdict == measure.Same && (f.Ratio >= much || f.Ratio <= 1/much) {
		c.Sign, c.Word = "~", "not certain"
	}
	return c
}

// Text returns a cell as one text: "22.5 B (1.32× ▼)".
func (c cell) Text() string {
	if c.Ratio == "" {
		return c.Value
	}
	return c.Value + " (" + c.Compared() + ")"
}

// Compared returns the ratio and its sign, "" if there is none.
func (c cell) Compared() string { return strings.TrimSpace(c.Ratio + " " + c.Sign) }

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
		if kind == r.Baseline || size.Ratio == "" {
			continue
		}
		text := fmt.Sprintf("%s takes %s the bytes", kindTitle(kind), size.Ratio)
		if rate.Class == "same" || rate.Class == "better" || rate.Class == "worse" {
			text += fmt.Sprintf(" and is inserted at %s the rate", rate.Ratio)
			if rate.Class == "same" {
				text += " (" + rate.Word + ")"
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
	"batch": "# a statement", "create": "# a Create", "delay": "# to the server", "pace": "# rows/s each",
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
