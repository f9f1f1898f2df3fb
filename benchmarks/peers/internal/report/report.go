// Package report turns the figures of this command into tables, charts and JSON.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/scenario"
)

// ours is the kind of this module's generator as it is by default.
const ours = "sqlflake"

// Report is the content of all forms of output.
type Report struct {
	data   measure.Data
	groups []measure.Group
}

// New makes a report.
func New(data measure.Data) Report {
	measured := slices.DeleteFunc(slices.Clone(data.Records), func(r measure.Record) bool { return len(r.Values) == 0 })
	return Report{data, measure.Summarize(measured, ours)}
}

// kind is a row of the table.
type kind struct {
	name, title, module string
	scenarios           string // the kind of the scenarios, if there is one
}

var kinds = []kind{
	{name: ours, title: "sqlflake", scenarios: "fixed"},
	{name: "leased", title: "sqlflake, leased worker", scenarios: "leased"},
	{name: "random", title: "sqlflake, WithRandomStart"},
	{name: "context", title: "sqlflake, NextContext (can be cancelled)"},
	{name: "fill", title: "sqlflake, Fill of 1,000 (each)"},
	{name: "append", title: "sqlflake, AppendText"},
	{name: "clock", title: "sqlflake, WithClock"},
	{name: "catching", title: "sqlflake, WithClock, catching up"},
	{name: "since", title: "time.Since"},
	{name: "now", title: "time.Now"},
	{name: "stores", title: "a loop that stores 1,000 numbers (each)"},
	{name: "int64", title: "int64, strconv"},
	{name: "append64", title: "int64, strconv.AppendInt"},
	{name: "quoted", title: "int64 as a string in JSON"},
	{name: "bwmarrin", title: "bwmarrin/snowflake", module: "github.com/bwmarrin/snowflake", scenarios: "bwmarrin"},
	{name: "sonyflake", title: "sony/sonyflake v2", module: "github.com/sony/sonyflake/v2", scenarios: "sonyflake"},
	{name: "godruoyi", title: "godruoyi/go-snowflake", module: "github.com/godruoyi/go-snowflake", scenarios: "godruoyi"},
	{name: "yitter", title: "yitter/idgenerator-go", module: "github.com/yitter/idgenerator-go", scenarios: "yitter"},
	{name: "influx", title: "influxdata's snowflake", module: "github.com/influxdata/influxdb"},
	{name: "sno", title: "muyo/sno", module: "github.com/muyo/sno"},
	{name: "xid", title: "rs/xid", module: "github.com/rs/xid"},
	{name: "ulid", title: "oklog/ulid v2", module: "github.com/oklog/ulid/v2"},
	{name: "ksuid", title: "segmentio/ksuid", module: "github.com/segmentio/ksuid"},
	{name: "google4", title: "google/uuid v4", module: "github.com/google/uuid"},
	{name: "google4pool", title: "google/uuid v4, EnableRandPool"},
	{name: "google7", title: "google/uuid v7"},
	{name: "google7pool", title: "google/uuid v7, EnableRandPool"},
	{name: "gofrs4", title: "gofrs/uuid v4", module: "github.com/gofrs/uuid/v5"},
	{name: "gofrs7", title: "gofrs/uuid v7"},
	{name: "typeid", title: "jetify typeid v2", module: "go.jetify.com/typeid/v2"},
}

// Modules returns the paths of the other libraries' modules by kind.
func Modules() map[string]string {
	all := map[string]string{}
	for _, k := range kinds {
		if k.module != "" {
			all[k.name] = k.module
		}
	}
	return all
}

func title(name string) string {
	for _, k := range kinds {
		if k.name == name {
			return k.title
		}
	}
	return name
}

// figure returns a figure, false if it was not measured. The case is "goroutines=8", or "" of a scenario with one.
func (r Report) figure(scenario, params, kind, metric string) (measure.Figure, bool) {
	for _, g := range r.groups {
		if g.Scenario == scenario && g.Params.String() == params {
			return g.Figure(kind, metric)
		}
	}
	return measure.Figure{}, false
}

// median returns the text of a median, "" if it was not measured.
func (r Report) median(scenario, params, kind, metric string) string {
	if f, ok := r.figure(scenario, params, kind, metric); ok {
		return digits(f)
	}
	return ""
}

// digits returns a median with three digits or all before the point.
func digits(f measure.Figure) string {
	switch {
	case f.Metric.Unit == "%":
		return document.Number(f.Median, 1)
	case f.Median >= 100 || f.Median == 0 || f.Metric.Exact:
		return document.Number(f.Median, 0)
	case f.Median >= 10:
		return document.Number(f.Median, 1)
	case f.Median >= 1:
		return document.Number(f.Median, 2)
	}
	return document.Number(f.Median, 3)
}

// repeats returns in how many scenarios a kind gives an ID twice or a negative one, "" if it was in none.
func (r Report) repeats(name string) string {
	bad, all := 0, 0
	for _, record := range r.data.Records {
		if duplicates, ok := record.Values["duplicates"]; ok && record.Kind == name && record.Values["share"] == 0 {
			all++
			if duplicates > 0 || record.Values["negative"] > 0 {
				bad++
			}
		}
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", bad, all)
}

// where says where the figures are from, and what was left out.
func (r Report) where() string {
	env := r.data.Environment
	text := fmt.Sprintf("On %s cores of %s.", measure.Get(env.Machine, "cores"), r.machine())
	rounds, left, n := 0, [2]float64{}, [2]float64{} // of one goroutine and of more
	for _, record := range r.data.Records {
		if part, ok := record.Values["disturbed"]; ok {
			more := 0
			if goroutines := record.Params.Get("goroutines"); goroutines != "" && goroutines != "1" {
				more = 1
			}
			rounds, left[more], n[more] = max(rounds, record.Round), left[more]+part, n[more]+1
		}
	}
	if rounds > 0 {
		text += fmt.Sprintf(" Figures of speed are medians; rounds: %d. Left out are %.0f %% of the turns with one goroutine, whose "+
			"thread waited for a core, and %.0f %% of those with more, while other programs used more than a tenth of the cores.",
			rounds, left[0]/max(n[0], 1), left[1]/max(n[1], 1))
	}
	return strings.Join(append([]string{text}, env.Notes["machine"]...), " ")
}

func (r Report) machine() string {
	list := r.data.Environment.Machine
	return fmt.Sprintf("%s (%s, %s)", measure.Get(list, "cpu"), measure.Get(list, "goos"), measure.Get(list, "go"))
}

// WriteText writes the tables for a terminal.
func (r Report) WriteText(w io.Writer) error {
	for _, t := range r.tables() {
		if len(t.rows) < 2 {
			continue
		}
		fmt.Fprintf(w, "%s\n\n", t.title)
		columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, row := range t.rows {
			fmt.Fprintln(columns, strings.Join(row, "\t"))
		}
		if err := columns.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintln(w, r.where())
	return err
}

// WriteJSON writes the environment, all figures, and the scenarios.
func (r Report) WriteJSON(w io.Writer) error {
	type figure struct {
		Scenario, Case, Kind, Metric, Unit string
		N                                  int
		Median, Low, High                  float64
	}
	type result struct {
		Scenario, Kind string
		Values         map[string]float64
		Note           string `json:",omitempty"`
	}
	figures, results := []figure{}, []result{}
	names := scenarioNames()
	for _, g := range r.groups {
		for _, name := range g.Kinds {
			for _, m := range g.Metrics {
				if f, ok := g.Figure(name, m.Name); ok && !slices.Contains(names, g.Scenario) && !math.IsInf(f.High, 0) {
					figures = append(figures, figure{g.Scenario, g.Params.String(), name, m.Name, m.Unit, f.N, f.Median, f.Low, f.High})
				}
			}
		}
	}
	for _, one := range r.data.Records {
		if slices.Contains(names, one.Scenario) {
			results = append(results, result{one.Scenario, one.Kind, one.Values, one.Note})
		}
	}
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	return out.Encode(map[string]any{"environment": r.data.Environment, "figures": figures, "scenarios": results})
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenario.All() {
		names = append(names, s.Name)
	}
	return names
}

// number reads the number of a case, "goroutines=8".
func number(params string) float64 {
	_, value, _ := strings.Cut(params, "=")
	n, _ := strconv.ParseFloat(value, 64)
	return n
}
