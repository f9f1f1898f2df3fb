package report

import (
	"io"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runs returns the rounds of a kind, each with a run of the baseline beside it. Speeds differ a little by round.
func runs(engine, scenario string, p measure.Params, kind string, rounds int, base, of values) []measure.Record {
	var all []measure.Record
	for round := range rounds {
		vary := func(values map[string]float64) map[string]float64 {
			out := map[string]float64{}
			for name, v := range values {
				if !measure.Find(name).Exact {
					v *= 1 + float64(round)/1000
				}
				out[name] = v
			}
			return out
		}
		one := measure.Record{
			Engine: engine, Scenario: scenario, Params: p, Kind: kind, Round: round + 1, Values: vary(of),
		}
		beside := one
		beside.Kind, beside.Beside, beside.Values = "auto", kind, vary(base)
		all = append(all, beside, one)
	}
	return all
}

type values = map[string]float64

// sample has figures for each kind of picture.
func sample(rounds int) Report {
	var all []measure.Record
	add := func(engine, scenario string, p measure.Params, base values, kinds map[string]values) {
		for _, kind := range []string{"snowflake", "snowflake-workers", "uuidv7", "uuidv4"} {
			if v, ok := kinds[kind]; ok {
				all = append(all, runs(engine, scenario, p, kind, rounds, base, v)...)
			}
		}
	}
	for _, batch := range []int{1, 1000} {
		add("postgres", "load", measure.P("rows", 200*batch, "batch", batch),
			values{"rate": 100, "bytes_primary": 22.6, "bytes_table": 99.2, "density": 90}, map[string]values{
				"snowflake": {"rate": 90, "bytes_primary": 22.6, "bytes_table": 99.2, "density": 90},
				"uuidv7":    {"rate": 80, "bytes_primary": 31.7, "bytes_table": 116.1, "density": 90},
				"uuidv4":    {"rate": 60, "bytes_primary": 42.7, "bytes_table": 127.1, "density": 66},
			})
	}
	many := measure.P("rows", 200_000, "batch", 1000)
	add("mariadb", "load", many, values{"rate": 100, "bytes_table": 69.6}, map[string]values{
		"snowflake": {"rate": 100, "bytes_table": 69.6}, "snowflake-workers": {"rate": 80, "bytes_table": 123},
		"uuidv7": {"rate": 80, "bytes_table": 78.3}, "uuidv4": {"rate": 50, "bytes_table": 110},
	})
	add("postgres", "clients", measure.P("rows", 200_000, "clients", 4, "batch", 1000),
		values{"rate": 100, "bytes_primary": 22.5},
		map[string]values{"snowflake": {"rate": 140, "bytes_primary": 29.8}, "uuidv4": {"rate": 70, "bytes_primary": 44.2}})
	add("postgres", "grow", measure.P("rows", 4000), values{"rate@100": 100, "rate@4000": 100},
		map[string]values{
			"snowflake": {"rate@100": 99, "rate@4000": 99},
			"uuidv4":    {"rate@100": 90, "rate@4000": 40},
		})
	for _, workers := range []int{1, 16} {
		add("postgres", "arrival", measure.P("rows", 1000, "workers", workers, "fill", 90), values{"density": 90},
			map[string]values{"snowflake": {"density": 90 / float64(workers)}})
	}
	p50 := values{"p50": 9}
	all = append(all, runs("postgres", "commit", measure.P("rows", 9), measure.Again, rounds, p50, p50)...)
	all = append(all, measure.Record{
		Engine: "mariadb", Scenario: "read", Kind: "uuidv4", Round: 1, Note: "there is no index",
	})
	return New(measure.Environment{
		Time: "2026-01-02T03:04:05Z", Command: "go run ./storage -rows 1000", Baseline: "auto",
		Database: map[string][]measure.Setting{"postgres": {{Name: "version", Value: "PostgreSQL 15.20"}}},
		Notes:    map[string][]string{"machine": {"The machine was busy."}},
	}, all, "auto")
}

// written returns what a function writes.
func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	must(t, write(&b))
	return b.String()
}
