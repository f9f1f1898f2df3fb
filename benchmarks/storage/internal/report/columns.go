package report

import (
	"math"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// columns are the metrics that answer the question of a scenario, the most important first. A table has the measured
// ones, as many as fit.
var columns = map[string][]string{
	"load":      {"rate", "cpu", "generator", "bytes_primary", "bytes_table", "density", "log", "written"},
	"clients":   {"rate", "cpu", "bytes_primary", "bytes_table", "density", "log"},
	"children":  {"rate", "bytes_secondary", "bytes_table", "log", "written", "cpu"},
	"commit":    {"p50", "p99", "rate", "log", "cpu"},
	"arrival":   {"density", "bytes_primary", "bytes_rows", "fragmentation"},
	"graph":     {"round_trips", "time", "ping", "cpu"},
	"retention": {"time", "vacuum", "freed_share", "log", "written", "cpu"},
	"read":      {"lookup", "join", "range_key", "range_time", "range_scan", "pages_key"},
	"gorm":      {"rate", "bytes_primary", "bytes_secondary", "bytes_table", "cpu", "log", "written"},
	"grow":      {"rate", "written", "reads", "log"},
}

// mostColumns is the largest number of columns of a table.
const mostColumns = 7

// headings are short titles for columns, at most two lines.
var headings = map[string]string{
	"rate": "rows/s", "bytes_primary": "key index\nB/row", "bytes_rows": "rows+key\nB/row",
	"bytes_secondary": "indexes\nB/row", "bytes_table": "table\nB/row", "density": "leaves\nfull %",
	"fragmentation": "out of\norder %", "log": "log\nB/row", "page_images": "full pages\n/1000 rows",
	"written": "written\nB/row", "reads": "page reads\n/1000 rows", "hits": "pages\n/row", "cpu": "CPU\nµs/row",
	"cpu_server": "server CPU\nµs/row", "generator": "generator\n% of CPU", "p50": "median\nµs", "p99": "p99\nµs",
	"ping": "ping\nms", "vacuum": "vacuum\nms", "lookup": "by key\nµs", "lookup_p99": "by key\np99 µs",
	"join": "join\nms", "newest_key": "50 newest\nby key µs", "newest_time": "50 newest\nby time µs",
	"range_key": "1 % by\nkey ms", "range_time": "1 % by\nindex ms", "range_scan": "1 % by\nscan ms",
	"pages_key": "pages\nby key", "pages_time": "pages\nby time", "round_trips": "round\ntrips",
	"time": "time\nms", "freed": "pages\nfreed", "freed_share": "pages\nfreed %",
}

// plain are metrics whose value matters, not their ratio. A larger table frees more pages for the same rows.
var plain = []string{"density", "fragmentation", "generator", "ping", "freed", "freed_share"}

func hasRatio(m measure.Metric) bool {
	base, _, _ := strings.Cut(m.Name, "@")
	return !slices.Contains(plain, base)
}

func heading(m measure.Metric) string {
	base, point, found := strings.Cut(m.Name, "@")
	text, ok := headings[base]
	if !ok {
		text = base
		if m.Unit != "" {
			text += "\n" + m.Unit
		}
	}
	if found {
		first, _, _ := strings.Cut(text, "\n")
		return first + "\nat " + thousands(point)
	}
	return text
}

// columnsOf returns the metrics of a group's table. Metrics that the baseline does not have, such as the key's own
// index on SQLite, are left out unless there is no baseline.
func columnsOf(g measure.Group, baseline string) []measure.Metric {
	return someColumns(g, baseline, mostColumns)
}

// someColumns returns at most n columns. The ends of a curve are always among them.
func someColumns(g measure.Group, baseline string, most int) []measure.Metric {
	wanted := columns[g.Scenario]
	if wanted == nil {
		for _, m := range g.Metrics {
			wanted = append(wanted, m.Name)
		}
	}
	var chosen []measure.Metric
	for _, name := range wanted {
		i := slices.IndexFunc(g.Metrics, func(m measure.Metric) bool { return m.Name == name })
		if i >= 0 && len(chosen) < most && says(g, g.Metrics[i]) && hasBaseline(g, name, baseline) {
			chosen = append(chosen, g.Metrics[i])
		}
	}
	return append(chosen, points(g, most-len(chosen))...)
}

// says reports whether a metric is useful: a column of zeros is not.
func says(g measure.Group, m measure.Metric) bool {
	return slices.ContainsFunc(g.Kinds, func(kind string) bool {
		f, ok := g.Figure(kind, m.Name)
		return ok && math.Abs(f.Max) > 0
	})
}

func hasBaseline(g measure.Group, metric, baseline string) bool {
	_, ok := g.Figure(baseline, metric)
	return ok || !slices.Contains(g.Kinds, baseline)
}

// points returns up to n metrics "...@..." of the first such name that is not among the columns, evenly spaced with the
// first and the last.
func points(g measure.Group, n int) []measure.Metric {
	var all []measure.Metric
	for _, m := range g.Metrics {
		if base, _, found := strings.Cut(m.Name, "@"); found && (base == "rate" || !hasPoints(g, "rate")) {
			all = append(all, m)
		}
	}
	if columns[g.Scenario] == nil || n <= 0 {
		return nil // they are among the others
	}
	if len(all) <= n {
		return all
	}
	if n == 1 {
		return all[len(all)-1:]
	}
	chosen := make([]measure.Metric, n)
	for i := range chosen {
		chosen[i] = all[i*(len(all)-1)/(n-1)]
	}
	return chosen
}

func hasPoints(g measure.Group, base string) bool {
	return slices.ContainsFunc(g.Metrics, func(m measure.Metric) bool { return strings.HasPrefix(m.Name, base+"@") })
}

// thousands shortens a number of rows: "200000" is "200k".
func thousands(point string) string {
	for _, unit := range []struct{ zeros, name string }{{"000000", "M"}, {"000", "k"}} {
		if short, ok := strings.CutSuffix(point, unit.zeros); ok && short != "" {
			return short + unit.name
		}
	}
	return point
}
