package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

var csvHead = []string{
	"engine", "scenario", "params", "kind", "metric", "unit", "n", "median", "min", "max", "ratio", "ratio_min", "ratio_max",
	"tie", "noisy", "few_rounds", "note",
}

// WriteCSV writes a line for each figure. Unknown values, such as a ratio without a baseline, are empty.
func (r Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHead); err != nil {
		return err
	}
	for _, g := range r.Groups {
		for _, f := range figures(g) {
			v := verdictOf(f)
			err := out.Write([]string{
				f.Engine, f.Scenario, f.Params.String(), f.Kind, f.Metric.Name, f.Metric.Unit, strconv.Itoa(f.N),
				exact(f.Median), exact(f.Min), exact(f.Max), exact(f.Ratio), exact(f.RatioMin), exact(f.RatioMax),
				strconv.FormatBool(v == tie), strconv.FormatBool(v == noisy), strconv.FormatBool(v == few),
				r.noteOf(f),
			})
			if err != nil {
				return err
			}
		}
	}
	for _, m := range r.Missing { // a line with a note and without figures
		line := make([]string, len(csvHead))
		copy(line, []string{m.Engine, m.Scenario, m.Params.String(), m.Kind})
		line[len(line)-1] = m.Note
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// noteOf returns the notes on the runs of a figure.
func (r Report) noteOf(f measure.Figure) string {
	for _, one := range r.Noted {
		if one.Engine == f.Engine && one.Scenario == f.Scenario && one.Kind == f.Kind && one.Params.String() == f.Params.String() {
			return one.Note
		}
	}
	return ""
}

func exact(value float64) string {
	if p := known(value); p == nil {
		return ""
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

// known returns nil for values that JSON cannot represent. It rounds to eight digits, more than any measurement has.
func known(value float64) *float64 {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return nil
	}
	value, _ = strconv.ParseFloat(strconv.FormatFloat(value, 'g', 8, 64), 64)
	return &value
}

// figures returns the figures of a group, by kind and metric.
func figures(g measure.Group) []measure.Figure {
	var all []measure.Figure
	for _, kind := range g.Kinds {
		for _, m := range g.Metrics {
			if f, ok := g.Figure(kind, m.Name); ok {
				all = append(all, f)
			}
		}
	}
	return all
}

// data is the report as JSON.
type data struct {
	Environment measure.Environment `json:"environment"`
	Baseline    string              `json:"baseline"`
	Metrics     []dataMetric        `json:"metrics"`
	Groups      []dataGroup         `json:"groups"`
	Missing     []measure.Record    `json:"missing,omitempty"`
	Noted       []measure.Record    `json:"noted,omitempty"`
	Unfinished  int                 `json:"unfinished,omitempty"`
}

type dataGroup struct {
	Engine   string         `json:"engine"`
	Scenario string         `json:"scenario"`
	Title    string         `json:"title"`
	Question string         `json:"question,omitempty"`
	Params   measure.Params `json:"params"`
	Figures  []dataFigure   `json:"figures"`
}

type dataMetric struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Unit  string `json:"unit,omitempty"`
	More  bool   `json:"more_is_better"`
	Exact bool   `json:"exact"` // the same in each run, unless a figure says otherwise
}

type dataFigure struct {
	Kind     string   `json:"kind"`
	Metric   string   `json:"metric"`
	N        int      `json:"n"`
	Median   *float64 `json:"median"`
	Min      *float64 `json:"min"`
	Max      *float64 `json:"max"`
	Ratio    *float64 `json:"ratio"` // null without a baseline
	RatioMin *float64 `json:"ratio_min"`
	RatioMax *float64 `json:"ratio_max"`
	Tie      bool     `json:"tie"`
	Noisy    bool     `json:"noisy"`
	Few      bool     `json:"few_rounds"` // fewer than three, and not exact
	Exact    bool     `json:"exact"`      // the rounds agree
}

func (r Report) data() data {
	d := data{
		Environment: r.Environment, Baseline: r.Baseline, Groups: []dataGroup{},
		Missing: r.Missing, Noted: r.Noted, Unfinished: r.Unfinished,
	}
	seen := map[string]bool{}
	for _, g := range r.Groups {
		s := scenarioOf(g.Scenario)
		group := dataGroup{Engine: g.Engine, Scenario: g.Scenario, Title: s.Title, Question: s.Question, Params: g.Params}
		for _, m := range g.Metrics {
			if !seen[m.Name] {
				seen[m.Name] = true
				d.Metrics = append(d.Metrics, dataMetric{m.Name, m.Title, m.Unit, m.More, m.Exact})
			}
		}
		for _, f := range figures(g) {
			v := verdictOf(f)
			group.Figures = append(group.Figures, dataFigure{
				Kind: f.Kind, Metric: f.Metric.Name, N: f.N,
				Median: known(f.Median), Min: known(f.Min), Max: known(f.Max),
				Ratio: known(f.Ratio), RatioMin: known(f.RatioMin), RatioMax: known(f.RatioMax), Tie: v == tie, Noisy: v == noisy,
				Few: v == few, Exact: f.Metric.Exact,
			})
		}
		d.Groups = append(d.Groups, group)
	}
	return d
}

// WriteJSON writes the environment and all figures.
func (r Report) WriteJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "\t")
	return out.Encode(r.data())
}
