// Package report writes figures as text.
package report

import (
	"fmt"
	"io"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// Report is the figures of a comparison.
type Report struct {
	Environment measure.Environment
	Baseline    string
	Groups      []measure.Group
	Unfinished  int
}

// Style is how to write text.
type Style struct {
	Width int
	Color bool
}

// New computes a report.
func New(env measure.Environment, records []measure.Record, baseline string) Report {
	return Report{Environment: env, Baseline: baseline, Groups: measure.Summarize(records, baseline)}
}

// WriteText writes all figures.
func (r Report) WriteText(w io.Writer, _ Style) error {
	for _, g := range r.Groups {
		fmt.Fprintf(w, "\n%s, %s, %s\n", g.Scenario, g.Engine, g.Params)
		for _, m := range g.Metrics {
			for _, kind := range g.Kinds {
				if f, ok := g.Figure(kind, m.Name); ok {
					fmt.Fprintf(w, "%-18s %-16s %12.*f  %6.2fx  %s\n", m.Name, kind, f.Metric.Digits, f.Median, f.Ratio, f.Verdict)
				}
			}
		}
	}
	return nil
}

// WriteCSV is a stub.
func (r Report) WriteCSV(w io.Writer) error { return r.WriteText(w, Style{}) }

// WriteJSON is a stub.
func (r Report) WriteJSON(w io.Writer) error { return r.WriteText(w, Style{}) }

// WriteFolder is a stub.
func (r Report) WriteFolder(string) error { return nil }

// WriteDocs is a stub.
func (r Report) WriteDocs(string) error { return nil }
