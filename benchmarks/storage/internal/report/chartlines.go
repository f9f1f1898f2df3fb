package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// point is a figure at a table size.
type point struct {
	Rows   float64
	Figure measure.Figure
}

// curve returns the figures "base@..." of a kind, by size.
func curve(g measure.Group, kind, base string) []point {
	var points []point
	for _, m := range g.Metrics {
		rows, found := strings.CutPrefix(m.Name, base+"@")
		n, err := strconv.ParseFloat(rows, 64)
		f, ok := g.Figure(kind, m.Name)
		if found && err == nil && ok && known(f.Median) != nil && known(n) != nil {
			points = append(points, point{n, f})
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.Rows, b.Rows) })
	return points
}

// lineChart draws a metric over the size of the table; false with fewer than two sizes, or if all values are zero.
func lineChart(id string, g measure.Group, base string) (Chart, bool) {
	m := measure.Find(base)
	const top, bottom, left, right, gap = 14.0, 314.0, 64.0, 560.0, 15.0
	var mostRows, most float64
	sizes := map[float64]bool{}
	for _, kind := range g.Kinds {
		for _, p := range curve(g, kind, base) {
			mostRows, most, sizes[p.Rows] = max(mostRows, p.Rows), max(most, p.Figure.Median), true
		}
	}
	s := &svg{id: id}
	xs, ys := ticks(mostRows, 5), ticks(most, 5)
	x := func(rows float64) float64 { return left + rows/max(mostRows, 1)*(right-left) }
	y := func(v float64) float64 { return bottom - v/ys[len(ys)-1]*(bottom-top) }
	for _, v := range ys {
		s.line("grid", left, y(v), right, y(v))
		s.text("tick", "end", left-8, y(v)+4, short(v))
	}
	for _, v := range xs {
		if v <= mostRows {
			s.line("grid", x(v), top, x(v), bottom)
			s.text("tick", "middle", x(v), bottom+16, short(v))
		}
	}
	s.text("axis", "end", right, bottom+34, "rows in the table")
	type end struct {
		kind string
		y    float64
	}
	var ends []end
	var desc []string
	for i, kind := range g.Kinds {
		points := curve(g, kind, base)
		if len(points) == 0 {
			continue
		}
		var line [][2]float64
		for _, p := range points {
			line = append(line, [2]float64{x(p.Rows), y(p.Figure.Median)})
		}
		s.path(fmt.Sprintf("curve dash%d s-%s", i%4, family(kind)), line)
		for j, p := range points {
			hover := fmt.Sprintf("%s at %s rows: %s", kindTitle(kind), number(p.Rows, 0), withUnit(m, p.Figure.Median))
			s.shape(i, "f-"+family(kind), line[j][0], line[j][1], hover)
			desc = append(desc, hover)
		}
		ends = append(ends, end{kind, line[len(line)-1][1]})
	}
	// Names are at the ends of the lines, moved apart where lines end close together.
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(a.y, b.y) })
	for i := range ends {
		at := ends[i].y
		if i > 0 {
			at = max(at, ends[i-1].y+gap)
		}
		ends[i].y = at
	}
	for i := len(ends) - 1; i >= 0; i-- {
		highest := bottom
		if i+1 < len(ends) {
			highest = ends[i+1].y - gap
		}
		ends[i].y = min(ends[i].y, highest)
		s.shape(slices.Index(g.Kinds, ends[i].kind), "f-"+family(ends[i].kind), right+14, ends[i].y, "")
		s.text("label", "start", right+24, ends[i].y+4, kindTitle(ends[i].kind))
	}
	s.height = bottom + 40
	heading := fmt.Sprintf("%s as the table grows, on %s", capital(m.Title), engineTitle(g.Engine))
	return s.chart(heading, desc), len(sizes) > 1 && most > 0
}
