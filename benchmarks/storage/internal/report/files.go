package report

import (
	"bytes"
	"encoding/csv"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
)

// WriteCSV writes a line for each figure. Unknown numbers are empty.
func (r Report) WriteCSV(w io.Writer) error {
	rows := [][]string{{
		"engine", "scenario", "params", "kind", "metric", "unit", "more_is_better",
		"n", "median", "low", "high", "ratio", "p", "verdict",
	}}
	for _, g := range r.Groups {
		for _, kind := range g.Kinds {
			for _, m := range g.Metrics {
				if f, ok := g.Figure(kind, m.Name); ok {
					rows = append(rows, []string{
						g.Engine, g.Scenario, g.Params.String(), kind, m.Name, f.Metric.Unit, strconv.FormatBool(f.Metric.More),
						strconv.Itoa(f.N), csvNumber(f.Median), csvNumber(f.Low), csvNumber(f.High), csvNumber(f.Ratio),
						csvNumber(f.P), f.Verdict.String(),
					})
				}
			}
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// csvNumber formats a value with eight digits, more than a measurement has, or returns "" if it is unknown.
func csvNumber(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 8, 64)
}

// WriteFolder writes RESULTS.md into a folder and replaces an existing one. With a picture it also writes bytes.svg, which
// RESULTS.md shows.
func (r Report) WriteFolder(dir string, picture bool) error {
	charts := r.charts()
	picture = picture && len(charts) > 0
	files := map[string]func(io.Writer) error{
		"RESULTS.md": func(w io.Writer) error { return r.writeMarkdown(w, picture) },
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
