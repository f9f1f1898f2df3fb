package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// WriteDocs writes the tables and charts of the READMEs.
func (r Report) WriteDocs(dir string) error {
	text := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	var curves strings.Builder
	for _, c := range r.curves() {
		t := c.table()
		fmt.Fprintf(&curves, "%s:\n\n%s\n", strings.ToUpper(t.title[:1])+t.title[1:], document.Table(t.rows))
	}
	return document.WriteFiles(dir, map[string]func(io.Writer) error{
		"next.md":  text(r.sentence()),
		"speed.md": text(r.where() + "\n\n" + document.Table(r.idTable().rows) + "\n" + document.Table(r.textTable().rows) + "\n" + r.legend()),
		"ceiling.md": text(document.Table(r.ceilingTable().rows) +
			"\n* Each time includes one reading of the clock. The longest call is the median of those of the rounds.\n"),
		"scenarios.md": text(document.Table(r.scenarioTable().rows)),
		"curves.md":    text(curves.String()),
		"speed.svg":    func(w io.Writer) error { return chart.Write(w, "Time of an ID", r.bars("1"), r.bars("8")) },
		"curves.svg": func(w io.Writer) error {
			var charts []chart.Chart
			for _, c := range r.curves() {
				charts = append(charts, c.chart())
			}
			return chart.Write(w, "Cost as work grows", charts...)
		},
	})
}

func (r Report) legend() string {
	legend := []string{
		"The time of an ID is that of one generator with 20 bits of sequence (Fill: 24), so that it does not wait. sno has 16 bits " +
			"for 4 ms: at least 61 ns an ID. influx has 12 and never waits: it leads its clock without a limit. godruoyi has 12 and " +
			"waits: at least 244 ns.",
		"With several goroutines it is the wall time of all divided by the IDs of all. As many run at once as there are cores.",
		"A burst is of generators as they are by default. sqlflake leads its clock by up to 10 ms, 45,056 IDs; longer bursts run " +
			"at 4,096 IDs a ms, as bwmarrin and godruoyi do from the start.",
		"\"Repeats IDs\": in how many of the events that apply to it a generator gives an ID twice or a negative one.",
		"JSON is a struct with three IDs. A typeid is stored as its text.",
	}
	var versions []string
	for _, k := range kinds {
		if version := measure.Get(r.data.Environment.Database[k.name], "version"); version != "" {
			name, _, _ := strings.Cut(k.title, " v")
			versions = append(versions, name+" "+version)
		}
	}
	return "* " + strings.Join(append(legend, strings.Join(versions, ", ")+"."), "\n* ") + "\n"
}

// ratio returns the ratio of two times of an ID for one goroutine.
func (r Report) ratio(kind, other string) float64 {
	a, ok := r.figure("next", "goroutines=1", kind, "ns")
	b, also := r.figure("next", "goroutines=1", other, "ns")
	if !ok || !also {
		return math.NaN()
	}
	return a.Median / b.Median
}

// sentence is for the first page.
func (r Report) sentence() string {
	return fmt.Sprintf("`Next` takes %s ns on a core of %s: %s times `time.Since`, and %s times bwmarrin/snowflake with\n"+
		"20 bits of sequence. `Fill` takes %s ns an ID. Neither allocates.\n",
		r.median("next", "goroutines=1", ours, "ns"), r.machine(), document.Factor(r.ratio(ours, "since")),
		document.Factor(r.ratio(ours, "bwmarrin")), r.median("next", "goroutines=1", "fill", "ns"))
}

// detail is in the table and not in the chart.
var detail = []string{"random", "context", "fill", "clock", "catching", "stores"}

// bars compares the libraries.
func (r Report) bars(goroutines string) chart.Chart {
	var bars []chart.Bar
	for _, k := range kinds {
		f, ok := r.figure("next", "goroutines="+goroutines, k.name, "ns")
		if !ok || slices.Contains(detail, k.name) {
			continue
		}
		class := "auto"
		if strings.HasPrefix(k.title, "sqlflake") {
			class = "snow"
		}
		bars = append(bars, chart.Bar{Label: k.title, Class: class, Value: f.Median, Text: digits(f)})
	}
	return chart.Bars("ns an ID, without a ceiling; goroutines: "+goroutines, bars)
}
