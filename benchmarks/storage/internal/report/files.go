package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
)

// columns are those of summary.csv, and the names in summary.json.
var columns = []string{
	"engine", "scenario", "params", "kind", "metric", "unit", "more_is_better",
	"n", "median", "low", "high", "ratio", "p", "verdict",
}

// figures returns a line for each figure, with the values of columns. Unknown numbers are nil.
func (r Report) figures() [][]any {
	known := func(v float64) any {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 8, 64), 64) // more than a measurement has
		return v
	}
	var all [][]any
	for _, g := range r.Groups {
		for _, kind := range g.Kinds {
			for _, m := range g.Metrics {
				if f, ok := g.Figure(kind, m.Name); ok {
					all = append(all, []any{
						g.Engine, g.Scenario, g.Params.String(), kind, m.Name, f.Metric.Unit, f.Metric.More, f.N,
						known(f.Median), known(f.Low), known(f.High), known(f.Ratio), known(f.P), f.Verdict.String(),
					})
				}
			}
		}
	}
	return all
}

// WriteJSON writes the environment, all figures and the notes.
func (r Report) WriteJSON(w io.Writer) error {
	figures := []map[string]any{}
	for _, line := range r.figures() {
		one := map[string]any{}
		for i, name := range columns {
			one[name] = line[i]
		}
		figures = append(figures, one)
	}
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	return out.Encode(map[string]any{
		"environment": r.Environment, "baseline": r.Baseline, "figures": figures, "notes": r.Notes, "unfinished": r.Unfinished,
	})
}

// WriteCSV writes a line for each figure. Unknown numbers are empty.
func (r Report) WriteCSV(w io.Writer) error {
	rows := [][]string{columns}
	for _, line := range r.figures() {
		row := make([]string, len(line))
		for i, v := range line {
			if v != nil {
				row[i] = fmt.Sprint(v)
			}
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// WriteFolder writes RESULTS.md, summary.csv and summary.json into a folder and replaces existing ones. With a picture it
// also writes bytes.svg, which RESULTS.md shows.
func (r Report) WriteFolder(dir string, picture bool) error {
	charts := r.charts()
	picture = picture && len(charts) > 0
	files := map[string]func(io.Writer) error{
		"RESULTS.md":   func(w io.Writer) error { return r.writeMarkdown(w, picture) },
		"summary.csv":  r.WriteCSV,
		"summary.json": r.WriteJSON,
	}
	if picture {
		files[pictureName] = func(w io.Writer) error { return chart.Write(w, pictureTitle, charts...) }
	}
	return writeFiles(dir, files)
}

// writeFiles creates the folder, if need be, and writes each file by its function.
func writeFiles(dir string, files map[string]func(io.Writer) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, write := range files {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o644); err != nil { //nolint:gosec // for all to read
			return err
		}
	}
	return nil
}
