package report

import (
	"cmp"
	"slices"

	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// curve is a figure at several sizes of the work.
type curve struct {
	title, below string
	lines        []line
	sizes        []float64
}

type line struct {
	label, class string
	points       map[float64]measure.Figure
}

// curves returns those that were measured.
func (r Report) curves() []curve {
	var all []curve
	for _, c := range []struct {
		scenario, metric, title, below string
		lines                          []line
	}{
		{
			"contention", "ns", "nanoseconds an ID, one generator", "goroutines",
			[]line{
				{label: "sqlflake", class: ours},
				{label: "bwmarrin", class: "bwmarrin"},
				{label: "sonyflake", class: "sonyflake"},
			},
		},
		{"batch", "ns", "nanoseconds an ID of a batch", "IDs in a batch", []line{
			{label: "Fill", class: "fill"}, {label: "Next in a loop", class: ours}, {label: "a loop that stores", class: "stores"},
		}},
		{"workers-curve", "rate", "million IDs a second, each worker with 4,096 a ms", "workers in a process", []line{{label: "sqlflake", class: ours}}},
		{
			"processes-curve", "rate", "million IDs a second, of all processes", "processes with leases of one database",
			[]line{{label: "SQLite", class: "sqlite"}, {label: "PostgreSQL", class: "postgres"}},
		},
		{
			"processes-curve", "open", "milliseconds to open a lease, the longest of all at once", "processes with leases of one database",
			[]line{{label: "SQLite", class: "sqlite"}, {label: "PostgreSQL", class: "postgres"}},
		},
	} {
		found := curve{title: c.title, below: c.below}
		for _, l := range c.lines {
			l.points = map[float64]measure.Figure{}
			for _, g := range r.groups {
				if f, ok := g.Figure(l.class, c.metric); ok && g.Scenario == c.scenario {
					size := number(g.Params.String())
					if l.points[size] = f; !slices.Contains(found.sizes, size) {
						found.sizes = append(found.sizes, size)
					}
				}
			}
			if len(l.points) > 0 {
				found.lines = append(found.lines, l)
			}
		}
		slices.SortFunc(found.sizes, cmp.Compare)
		if len(found.lines) > 0 {
			all = append(all, found)
		}
	}
	return all
}

// table has a row for each line.
func (c curve) table() table {
	head := []string{c.below}
	for _, size := range c.sizes {
		head = append(head, document.Number(size, 0))
	}
	t := table{c.title, [][]string{head}}
	for _, l := range c.lines {
		row := []string{l.label}
		for _, size := range c.sizes {
			f, ok := l.points[size]
			cell := "–"
			if ok {
				cell = digits(f)
			}
			row = append(row, cell)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// colors are the classes of lines, in their order.
var colors = []string{"snow", "v7", "v4"}

func (c curve) chart() chart.Chart {
	var lines []chart.Curve
	for i, l := range c.lines {
		one := chart.Curve{Label: l.label, Class: colors[i]}
		for _, size := range c.sizes {
			if f, ok := l.points[size]; ok {
				one.Points = append(one.Points, [2]float64{size, f.Median})
			}
		}
		lines = append(lines, one)
	}
	return chart.Lines(c.title, c.below, lines)
}
