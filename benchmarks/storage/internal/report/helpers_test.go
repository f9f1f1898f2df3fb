package report

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// values are those of one kind in one round.
type values map[string]float64

// rounds3 has the values of a metric in three rounds.
type rounds3 [3]float64

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// groupOf makes a group: the rounds of a metric by kind, and other values of kinds in each round.
func groupOf(engine, scenario, metric string, kinds map[string]rounds3, more ...measure.Record) measure.Group {
	byKind := map[string][3]values{}
	of := func(kind string) [3]values {
		if _, ok := byKind[kind]; !ok {
			byKind[kind] = [3]values{{}, {}, {}}
		}
		return byKind[kind]
	}
	for kind, rounds := range kinds {
		for i, v := range of(kind) {
			v[metric] = rounds[i]
		}
	}
	for _, r := range more {
		for _, v := range of(r.Kind) {
			maps.Copy(v, r.Values)
		}
	}
	var records []measure.Record
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		for i, v := range byKind[kind] {
			records = append(records, record(engine, scenario, measure.P("rows", 1_000_000), kind, v))
			records[len(records)-1].Round = i + 1
		}
	}
	return New(measure.Environment{}, records, "auto").Groups[0]
}

// record is a run in the first round.
func record(engine, scenario string, p measure.Params, kind string, v values) measure.Record {
	return measure.Record{Engine: engine, Scenario: scenario, Params: p, Kind: kind, Round: 1, Values: v}
}

// thrice repeats records in three rounds.
func thrice(records ...measure.Record) (all []measure.Record) {
	for round := range 3 {
		for _, r := range records {
			r.Round = round + 1
			all = append(all, r)
		}
	}
	return all
}

func same(v float64) rounds3 { return rounds3{v, v, v} }

// sample is a report with figures for every kind of chart.
func sample() Report {
	var records []measure.Record
	add := func(engine, scenario string, p measure.Params, kind string, v values) {
		for round := range 3 {
			one := values{}
			for name, value := range v {
				if !measure.Find(name).Exact {
					value *= 1 + float64(round)/50
				}
				one[name] = value
			}
			records = append(records, record(engine, scenario, p, kind, one))
			records[len(records)-1].Round = round + 1
		}
	}
	for kind, size := range map[string]float64{"auto": 22.5, "snowflake": 22.5, "uuidv4": 39.4, "uuidv4-text": 77} {
		speed := 22.5 / size
		add("postgres", "load", measure.P("rows", 1000, "batch", 100), kind, values{
			"rate": 1e5 * speed, "bytes_primary": size, "bytes_rows": 60 + size, "bytes_table": 60 + size,
			"density": 90 * speed, "log": 200 / speed, "cpu": 5 / speed, "page_images": 0,
		})
		add("sqlite", "load", measure.P("rows", 1000, "batch", 100), kind,
			values{"rate": 1e5 * speed, "bytes_rows": 60 + size, "bytes_table": 60 + size, "density": 90})
		add("postgres", "children", measure.P("rows", 1000, "of", "recent"), kind, values{
			"rate":          1e5 * speed,
			"bytes_primary": size, "bytes_rows": 60 + size, "bytes_secondary": size, "bytes_table": 60 + 2*size,
		})
		add("postgres", "grow", measure.P("rows", 1000), kind, values{
			"rate": 1e5, "rate@200": 1e5, "rate@1000": 1e5 * speed,
			"written@200": 60, "written@1000": 60 / speed,
		})
		add("postgres", "graph", measure.P("delay", "1ms", "style", "rows"), kind, values{"round_trips": size, "time": size})
		add("postgres", "commit", measure.P("rows", 1000, "clients", 1), kind, values{"p50": 40, "p99": 90})
		add("postgres", "read", measure.P("rows", 1000), kind,
			values{"lookup": 40, "join": 9, "range_key": 1, "range_time": 2, "range_scan": 30, "pages_key": 20})
		for _, fill := range []int{90, 100} {
			add("postgres", "arrival", measure.P("rows", 1000, "workers", 1, "fill", fill), kind,
				values{"density": float64(fill) - 1})
			add("postgres", "arrival", measure.P("rows", 1000, "workers", 4, "skew", "20ms", "fill", fill), kind,
				values{"density": 150 - float64(fill)})
		}
	}
	env := measure.Environment{
		Time: "2026-01-02T03:04:05Z", Command: "go run ./storage -rows 1000",
		Machine:  []measure.Setting{{Name: "cores", Value: "2"}},
		Database: map[string][]measure.Setting{"postgres": {{Name: "version", Value: "PostgreSQL 15"}}},
		Notes:    map[string][]string{"postgres": {"No fragmentation: pgstattuple is not installed."}},
	}
	return New(env, records, "auto")
}

// forms returns a report in each form.
func forms(t *testing.T, r Report) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, write := range map[string]func(io.Writer) error{
		"page": r.WriteHTML, "markdown": r.WriteMarkdown, "json": r.WriteJSON, "csv": r.WriteCSV,
		"text": func(w io.Writer) error { return r.WriteText(w, Style{Width: 1000}) },
	} {
		all[name] = written(t, func(w *strings.Builder) error { return write(w) })
	}
	return all
}

// written returns what a function writes.
func written(t *testing.T, write func(w *strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	must(t, write(&b))
	return b.String()
}
