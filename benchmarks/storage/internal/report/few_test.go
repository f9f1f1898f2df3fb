package report

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// pairs makes records of auto and snowflake with a metric, in n rounds.
func pairs(engine, scenario, metric string, n int, auto, snowflake float64) []measure.Record {
	var records []measure.Record
	for round := 1; round <= n; round++ {
		for kind, v := range map[string]float64{"auto": auto, "snowflake": snowflake} {
			records = append(records, record(engine, scenario, measure.P("rows", 1_000_000), kind, values{metric: v}))
			records[len(records)-1].Round = round
		}
	}
	return records
}

func TestFewRoundsDecideNothing(t *testing.T) {
	for _, test := range []struct {
		scenario, metric string
		rounds           int
		want             verdict
	}{
		{"load", "rate", 1, few},
		{"load", "rate", 2, few},
		{"load", "rate", 3, worse},
		{"load", "density", 1, worse},    // exact
		{"clients", "density", 2, few},   // depends on timing
		{"clients", "density", 3, worse}, // ...
	} {
		r := New(measure.Environment{}, pairs("postgres", test.scenario, test.metric, test.rounds, 100, 80), "auto")
		f, _ := r.Groups[0].Figure("snowflake", test.metric)
		if got := verdictOf(f); got != test.want {
			t.Errorf("%+v: verdict %d", test, got)
		}
		text := strings.Join(prose(r.Groups[0], test.metric, "auto"), " ")
		if told := strings.Contains(text, "loses"); told == (test.want == few) {
			t.Errorf("%+v: %s", test, text)
		}
	}
	r := New(measure.Environment{}, pairs("postgres", "load", "rate", 2, 100, 80), "auto")
	for name, text := range forms(t, r) {
		if name != "json" && name != "csv" && !strings.Contains(text, "few rounds") {
			t.Errorf("%s does not say that there are few rounds", name)
		}
	}
	// Three rounds of the kind do not help with one round of the baseline.
	records := pairs("postgres", "load", "rate", 3, 100, 80)
	for i := range records {
		if records[i].Kind == "auto" && records[i].Round > 1 {
			records[i].Kind = "uuidv4"
		}
	}
	f, _ := New(measure.Environment{}, records, "auto").Groups[0].Figure("snowflake", "rate")
	if verdictOf(f) != few {
		t.Error("three rounds were compared with one")
	}
}

func TestSizesOfSeveralClientsHaveASpread(t *testing.T) {
	records := pairs("postgres", "clients", "bytes_primary", 3, 22, 30)
	for i := range records {
		records[i].Values["bytes_primary"] += float64(records[i].Round)
	}
	for _, scenario := range []string{"clients", "load"} { // in load the sizes should repeat, and differences show
		for i := range records {
			records[i].Scenario = scenario
		}
		text := strings.Join(prose(New(measure.Environment{}, records, "auto").Groups[0], "bytes_primary", "auto"), " ")
		if !strings.Contains(text, " in 3 rounds)") {
			t.Errorf("%s: no spread in: %s", scenario, text)
		}
	}
}

func TestNotesBesideFiguresAreInAllReports(t *testing.T) {
	records := pairs("mariadb", "load", "rate", 3, 100, 80)
	for i := range records {
		if records[i].Kind == "snowflake" {
			records[i].Note = "it waited"
		}
	}
	records = append(records, measure.Record{Engine: "mariadb", Scenario: "read", Kind: "auto", Round: 1, Note: "no RETURNING"})
	env := measure.Environment{
		Database: map[string][]measure.Setting{"mariadb": {{Name: "version", Value: "MySQL 8.4"}}},
		Notes:    map[string][]string{"mariadb": {"a note"}},
	}
	r := New(env, records, "auto")
	for name, text := range forms(t, r) {
		if !strings.Contains(text, "it waited") || !strings.Contains(text, "no RETURNING") {
			t.Errorf("%s lacks a note", name)
		}
		if name != "csv" && strings.Count(text, "it waited") > 2 { // the page also contains it as data
			t.Errorf("%s has the note of each round", name)
		}
		if strings.Contains(text, "MariaDB") || strings.Contains(text, "mariadb") {
			t.Errorf("%s calls MySQL MariaDB:\n%s", name, text)
		}
	}
	if env.Database["mariadb"] == nil || records[0].Engine != "mariadb" {
		t.Error("what was given was changed")
	}
}
