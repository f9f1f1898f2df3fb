package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/report"
)

// compare prints what differs between two reports.
func (s settings) compare(out io.Writer) error {
	var groups [2][]measure.Group
	var environments [2]measure.Environment
	for i, path := range []string{s.old, s.new} {
		data, err := read("compare", path)
		if err != nil {
			return err
		}
		environments[i] = data.Environment
		groups[i] = report.New(data.Environment, data.Records, data.Environment.Baseline).Groups
	}
	settings := environments[0].Differ(environments[1])
	changes, onlyOld, onlyNew := measure.Compare(groups[0], groups[1])
	if len(changes) == 0 {
		return fmt.Errorf("-compare: %s and %s have no figure in common: other databases, scenarios, -rows or -keys", s.old, s.new)
	}
	rows := [][]string{strings.Split("database,scenario,case,key,metric,old,new,new/old,p,verdict,old x baseline,new x baseline", ",")}
	for _, c := range changes {
		if s.all || c.Verdict >= measure.Better {
			rows = append(rows, row(c))
		}
	}
	switch s.format {
	case "csv":
		return csv.NewWriter(out).WriteAll(rows)
	case "json":
		text, err := json.MarshalIndent(map[string]any{
			"settings": settings, "figures": rows, "of": len(changes), "onlyOld": onlyOld, "onlyNew": onlyNew,
		}, "", "\t")
		fmt.Fprintf(out, "%s\n", text)
		return err
	}
	for _, d := range settings {
		fmt.Fprintf(out, "%s: %s | %s\n", d.Name, d.Old, d.New)
	}
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for i, cells := range rows[1:] {
		if title := cells[:3]; !slices.Equal(title, rows[i][:3]) {
			fmt.Fprintf(table, "\n%s\n%s\n", strings.Join(title, ", "), strings.Join(rows[0][3:], "\t"))
		}
		fmt.Fprintln(table, strings.Join(cells[3:], "\t"))
	}
	fmt.Fprintf(table, "\n%d of %d figures. Only the old report has %d more, only the new one %d.\n", len(rows)-1, len(changes),
		onlyOld, onlyNew)
	return table.Flush()
}

// row returns the cells of a change.
func row(c measure.Change) []string {
	number := func(v float64, digits int) string {
		if math.IsNaN(v) {
			return "-"
		}
		return strconv.FormatFloat(v, 'f', digits, 64)
	}
	f, digits := c.New, max(c.Old.Metric.Digits, c.New.Metric.Digits)
	return []string{
		f.Engine, f.Scenario, f.Params.String(), f.Kind, f.Metric.Name, number(c.Old.Median, digits), number(f.Median, digits),
		number(c.Ratio, 2), number(c.P, 4), c.Verdict.String(), number(c.Old.Ratio, 2), number(f.Ratio, 2),
	}
}
