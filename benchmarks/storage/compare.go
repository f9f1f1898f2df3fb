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

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/report"
)

// compare prints what differs between two reports.
func (s settings) compare(out io.Writer) error {
	var groups [2][]measure.Group
	var environments [2]measure.Environment
	for i, path := range []string{s.old, s.new} {
		data, err := measure.ReadFolder(path)
		if err == nil && len(data.Records) == 0 {
			err = fmt.Errorf("%s contains no results", path)
		}
		if err != nil {
			return fmt.Errorf("-compare: %w", err)
		}
		environments[i] = data.Environment
		groups[i] = report.New(data.Environment, data.Records, data.Environment.Baseline).Groups
	}
	settings := environments[0].Differ(environments[1])
	changes, onlyOld, onlyNew := measure.Compare(groups[0], groups[1])
	rows := [][]string{{
		"database", "scenario", "case", "key", "metric", "old", "new", "new/old", "p", "verdict", "old x baseline",
		"new x baseline",
	}}
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
	for i, cells := range rows {
		if title := cells[:3]; i > 0 && !slices.Equal(title, rows[i-1][:3]) {
			fmt.Fprintf(table, "\n%s\n%s\n", strings.Join(title, ", "), strings.Join(rows[0][3:], "\t"))
		}
		if i > 0 {
			fmt.Fprintln(table, strings.Join(cells[3:], "\t"))
		}
	}
	fmt.Fprintf(table, "\n%d of %d figures. Only the old report has %d more, only the new one %d.\n", len(rows)-1, len(changes),
		onlyOld, onlyNew)
	return table.Flush()
}

// row returns the cells of a change.
func row(c measure.Change) []string {
	f, digits := c.New, max(c.Old.Metric.Digits, c.New.Metric.Digits)
	return []string{
		f.Engine, f.Scenario, f.Params.String(), f.Kind, f.Metric.Name, decimal(c.Old.Median, digits),
		decimal(f.Median, digits), decimal(c.Ratio, 2), decimal(c.P, 4), c.Verdict.String(), decimal(c.Old.Ratio, 2),
		decimal(f.Ratio, 2),
	}
}

func decimal(v float64, digits int) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}
