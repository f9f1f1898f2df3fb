package report

import (
	"fmt"
	"slices"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/scenario"
)

// table has its heads in the first row.
type table struct {
	title string
	rows  [][]string
}

func (r Report) tables() []table {
	tables := []table{r.scenarioTable(), r.idTable(), r.textTable(), r.ceilingTable()}
	for _, c := range r.curves() {
		tables = append(tables, c.table())
	}
	return tables
}

// scenarioTable has a row for each event.
func (r Report) scenarioTable() table {
	t := table{"IDs that are given twice, of all IDs", [][]string{{"event"}}}
	libraries := scenario.Libraries()
	for _, l := range libraries {
		t.rows[0] = append(t.rows[0], l.Title)
	}
	for _, s := range scenario.All() {
		row, found := []string{s.Title}, false
		for _, l := range libraries {
			cell := "–"
			for _, record := range r.data.Records {
				if record.Scenario == s.Name && record.Kind == l.Name {
					cell, found = scenario.Cell(record), true
				}
			}
			row = append(row, cell)
		}
		if found {
			t.rows = append(t.rows, row)
		}
	}
	return t
}

// column is a figure of the table of libraries.
type column struct{ head, scenario, params, metric string }

var idColumns = []column{
	{"1 goroutine, ns", "next", "goroutines=1", "ns"},
	{"2 goroutines, ns", "next", "goroutines=2", "ns"},
	{"8 goroutines, ns", "next", "goroutines=8", "ns"},
	{"allocations", "next", "goroutines=1", "allocs"},
	{"10,000 after a pause, µs", "burst", "", "us"},
}

var textColumns = []column{
	{"String, ns", "string", "goroutines=1", "ns"},
	{"Parse, ns", "parse", "goroutines=1", "ns"},
	{"Scan of a string, ns", "scan", "goroutines=1", "ns"},
	{"Scan of bytes, ns", "scanbytes", "goroutines=1", "ns"},
	{"JSON out, ns", "marshal", "goroutines=1", "ns"},
	{"JSON in, ns", "unmarshal", "goroutines=1", "ns"},
}

// idTable has a row for each generator, and says which of them repeat IDs.
func (r Report) idTable() table {
	t := r.speedTable("The time of an ID without a ceiling, and of a burst as by default", idColumns)
	if !slices.ContainsFunc(kinds, func(k kind) bool { return r.repeats(k.scenarios) != "" }) {
		return t
	}
	t.rows[0] = append(t.rows[0], "repeats IDs")
	for i, row := range t.rows[1:] {
		name := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.title == row[0] })].scenarios
		t.rows[i+1] = append(row, r.repeats(name))
	}
	return t
}

func (r Report) textTable() table {
	return r.speedTable("The time of text, and of JSON with three IDs", textColumns)
}

// speedTable has a row for each library that has a figure.
func (r Report) speedTable(title string, columns []column) table {
	heads := []string{"library"}
	for _, c := range columns {
		heads = append(heads, c.head)
	}
	t := table{title, [][]string{heads}}
	for _, k := range kinds {
		row, found := []string{k.title}, false
		for _, c := range columns {
			cell := r.median(c.scenario, c.params, k.name, c.metric)
			row, found = append(row, cell), found || cell != ""
		}
		if found {
			t.rows = append(t.rows, row)
		}
	}
	return t
}

// ceilingTable says what waiting costs.
func (r Report) ceilingTable() table {
	t := table{"As fast as it goes, with 4,096 IDs a ms", [][]string{{
		"library", "goroutines", "share of 4.096 M/s", "cores", "p50, µs", "p99.9, µs", "p99.99, µs", "longest call, ms",
	}}}
	for _, name := range []string{ours, "bwmarrin", "godruoyi"} {
		for _, goroutines := range []int{1, 2, 8} {
			params := fmt.Sprintf("goroutines=%d", goroutines)
			row := []string{title(name), document.Number(float64(goroutines), 0)}
			for _, metric := range []string{"share", "cores", "p50", "p999", "p9999", "longest"} {
				cell := r.median("ceiling", params, name, metric)
				if metric == "share" && cell != "" {
					cell += " %"
				}
				row = append(row, cell)
			}
			if row[2] != "" {
				t.rows = append(t.rows, row)
			}
		}
	}
	return t
}
