package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// line is a figure for other programs. Unknown numbers are nil.
type line struct {
	Engine   string   `json:"engine"`
	Scenario string   `json:"scenario"`
	Params   string   `json:"params"`
	Kind     string   `json:"kind"`
	Metric   string   `json:"metric"`
	Unit     string   `json:"unit"`
	More     bool     `json:"more_is_better"`
	Exact    bool     `json:"exact"`
	N        int      `json:"n"`
	Median   *float64 `json:"median"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	Ratio    *float64 `json:"ratio"`
	P        *float64 `json:"p"`
	Verdict  string   `json:"verdict"`
}

func (r Report) lines() []line {
	all := []line{}
	for _, g := range r.Groups {
		for _, kind := range g.Kinds {
			for _, m := range g.Metrics {
				if f, ok := g.Figure(kind, m.Name); ok {
					all = append(all, line{
						f.Engine, f.Scenario, f.Params.String(), kind, m.Name, f.Metric.Unit, f.Metric.More, f.Metric.Exact, f.N,
						known(f.Median), known(f.Low), known(f.High), known(f.Ratio), known(f.P), f.Verdict.String(),
					})
				}
			}
		}
	}
	return all
}

// known returns nil for numbers that JSON does not have. It rounds to eight digits, more than a measurement has.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 8, 64), 64)
	return &v
}

// WriteJSON writes the environment, all figures and the notes.
func (r Report) WriteJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "\t")
	return out.Encode(struct {
		Environment measure.Environment `json:"environment"`
		Baseline    string              `json:"baseline"`
		Figures     []line              `json:"figures"`
		Notes       []string            `json:"notes,omitempty"`
		Unfinished  int                 `json:"unfinished,omitempty"`
	}{r.Environment, r.Baseline, r.lines(), r.Notes, r.Unfinished})
}

// WriteCSV writes a line for each figure. Unknown numbers are empty.
func (r Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{
		"engine", "scenario", "params", "kind", "metric", "unit", "n", "median", "low", "high", "ratio", "p", "verdict",
	}}
	for _, l := range r.lines() {
		row := []string{l.Engine, l.Scenario, l.Params, l.Kind, l.Metric, l.Unit, strconv.Itoa(l.N)}
		for _, v := range []*float64{l.Median, l.Low, l.High, l.Ratio, l.P} {
			text := ""
			if v != nil {
				text = strconv.FormatFloat(*v, 'g', -1, 64)
			}
			row = append(row, text)
		}
		rows = append(rows, append(row, l.Verdict))
	}
	return out.WriteAll(rows)
}

// file is a name and a function that writes its content.
type file struct {
	name  string
	write func(io.Writer) error
}

// WriteFolder writes index.html, RESULTS.md, summary.csv and summary.json into a folder and replaces existing ones.
func (r Report) WriteFolder(dir string) error {
	return writeFiles(dir, []file{
		{"index.html", r.WriteHTML}, {"RESULTS.md", r.WriteMarkdown}, {"summary.csv", r.WriteCSV}, {"summary.json", r.WriteJSON},
	})
}

// writeFiles replaces each file when the new one is complete, so that a full disk keeps the old one.
func writeFiles(dir string, files []file) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		out, err := os.CreateTemp(dir, "."+f.name+".*")
		if err != nil {
			return err
		}
		err = errors.Join(f.write(out), out.Chmod(0o644), out.Close())
		if err == nil {
			err = os.Rename(out.Name(), filepath.Join(dir, f.name))
		}
		if err != nil {
			return errors.Join(err, os.Remove(out.Name()))
		}
	}
	return nil
}
