package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// grid is a table of one metric: disorders as rows, fill factors or kinds as columns.
type grid struct {
	Rows, Columns []string
	Cells         map[[2]string]measure.Figure
}

func (g *grid) put(row, column string, f measure.Figure) {
	if !slices.Contains(g.Rows, row) {
		g.Rows = append(g.Rows, row)
	}
	if !slices.Contains(g.Columns, column) {
		g.Columns = append(g.Columns, column)
		slices.SortStableFunc(g.Columns, func(a, b string) int { return fillOf(a) - fillOf(b) }) // kinds keep their order
	}
	g.Cells[[2]string{row, column}] = f
}

// disorder writes the parameters of a case without the fill factor and those that all cases share.
func disorder(p measure.Params, shared map[string]bool) string {
	var parts []string
	for _, param := range p {
		if param.Name != "fill" && !shared[param.Name] {
			parts = append(parts, paramWords(param))
		}
	}
	if len(parts) == 0 {
		return "all cases"
	}
	return strings.Join(parts, ", ")
}

// shared returns the parameters that are equal in all groups.
func shared(groups []measure.Group) map[string]bool {
	same := map[string]bool{}
	for _, param := range groups[0].Params {
		same[param.Name] = !slices.ContainsFunc(groups,
			func(g measure.Group) bool { return g.Params.Get(param.Name) != param.Value })
	}
	return same
}

// fills reports whether the groups have several fill factors.
func fills(groups []measure.Group) bool {
	return groups[0].Params.Get("fill") != "" && !shared(groups)["fill"]
}

// grids returns a grid for each kind if there are several fill factors, otherwise one with the kinds as columns.
func grids(groups []measure.Group, metric string) map[string]*grid {
	all, same := map[string]*grid{}, shared(groups)
	for _, g := range groups {
		for _, kind := range g.Kinds {
			f, ok := g.Figure(kind, metric)
			if !ok || known(f.Median) == nil {
				continue
			}
			name, column := "", kindTitle(kind)
			if fills(groups) {
				name, column = kind, "fill "+g.Params.Get("fill")
			}
			if all[name] == nil {
				all[name] = &grid{Cells: map[[2]string]measure.Figure{}}
			}
			all[name].put(disorder(g.Params, same), column, f)
		}
	}
	return all
}

func gridTitle(engine, kind string) string {
	title := "Leaves full, %, on " + engineTitle(engine)
	if kind != "" {
		title += ", " + kindTitle(kind)
	}
	return title
}

// table returns the grid as a table.
func (g *grid) table(title string) Table {
	t := Table{Title: title, Corner: "Case", Heads: g.Columns}
	for _, name := range g.Rows {
		row := Row{Kind: name}
		for _, column := range g.Columns {
			one := cell{Value: "-"}
			if f, ok := g.Cells[[2]string{name, column}]; ok {
				one.Value = number(f.Median, f.Metric.Digits)
			}
			row.Cells = append(row.Cells, one)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// heatChart draws a grid of densities with numbers, darker where fuller. It returns false without cells.
func heatChart(id, heading string, g *grid) (Chart, bool) {
	s := &svg{id: id}
	const top, cellHeight = 30.0, 28.0
	label := 0.0
	for _, row := range g.Rows {
		label = max(label, textWidth(row))
	}
	left := min(label+12, 380)
	width := (chartWidth - left - 4) / float64(max(len(g.Columns), 1))
	width = min(width, 150)
	var desc []string
	for i, column := range g.Columns {
		s.text("tick", "middle", left+(float64(i)+0.5)*width, top-10, short20(column, width))
	}
	for i, row := range g.Rows {
		y := top + float64(i)*cellHeight
		s.text("label", "end", left-8, y+18, row)
		for j, column := range g.Columns {
			f, ok := g.Cells[[2]string{row, column}]
			x := left + float64(j)*width
			if !ok {
				s.text("tick", "middle", x+width/2, y+18, "-")
				continue
			}
			hover := fmt.Sprintf("%s, %s: %s", row, column, withUnit(f.Metric, f.Median))
			s.rect(fmt.Sprintf("heat%d", heat(f.Median)), x+1, y+1, width-2, cellHeight-2, hover)
			s.text(fmt.Sprintf("on%d", heat(f.Median)), "middle", x+width/2, y+18, number(f.Median, 0))
			desc = append(desc, hover)
		}
	}
	s.height = top + float64(len(g.Rows))*cellHeight + 10
	return s.chart(heading, desc), len(desc) > 0
}

// heat returns the shade of a density in percent: 0 (about half empty) to 4 (full).
func heat(density float64) int {
	shade := 0
	for _, from := range []float64{60, 70, 80, dense} {
		if density >= from {
			shade++
		}
	}
	return shade
}

// short20 cuts a heading that is wider than its column.
func short20(text string, width float64) string {
	if n := int(width / charWidth); len([]rune(text)) > n && n > 1 {
		return string([]rune(text)[:n-1]) + "…"
	}
	return text
}
