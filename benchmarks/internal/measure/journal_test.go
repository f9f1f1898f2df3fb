package measure

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string) *Journal {
	t.Helper()
	j, err := OpenJournal(dir)
	must(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

var (
	environment = Environment{
		Time: "2026-11-22T10:00:00Z", Command: "go run ./storage -db sqlite", Baseline: "auto",
		Settings: []Setting{{"seed", "1"}, {"rows", "7"}},
		Machine:  []Setting{{"goos", "linux"}, {"load", "0.10"}},
		Database: map[string][]Setting{"sqlite": {{"version", "SQLite 3.45.1"}}}, Notes: map[string][]string{},
	}
	records = []Record{
		{
			Engine: "sqlite", Scenario: "load", Params: P("rows", 1000, "cache", "2 MB"), Kind: "auto",
			Beside: "snowflake", Round: 1,
			Values: map[string]float64{"rate": 12345.5, "bytes_table": 22.5, "rate@200": 1e-3, "seconds": 0},
		},
		{
			Engine: "sqlite", Scenario: "load", Params: P("rows", 1000, "cache", "2 MB"), Kind: "snowflake", Round: 1,
			Values: map[string]float64{"rate": 9}, Note: "the generator waited",
		},
		{
			Engine: "sqlite", Scenario: "children", Kind: "uuidv4", Round: 2, Values: map[string]float64{},
			Note: "not here: no",
		},
	}
)

func TestJournalIsResumed(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	must(t, j.Start(environment))

	for _, r := range records {
		must(t, j.Add(r))
	}

	must(t, j.AddNotes("sqlite", "two\nlines", "two lines"))
	if _, err := OpenJournal(dir); !errors.Is(err, errHeld) {
		t.Errorf("opened twice: %v", err)
	}

	must(t, j.Close())
	path := filepath.Join(dir, resultsName)
	text, err := os.ReadFile(path)
	must(t, err)
	// as after a full disk
	must(t, os.WriteFile(path, append(text, "BenchmarkLoad/db=sqlite/key=auto/round=3 1 12"...), 0o600))

	want := Data{Environment: environment, Records: records}
	want.Environment.Notes = map[string][]string{"sqlite": {"two lines"}}
	again := open(t, dir)
	if got := again.Data(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}

	other := records[0]
	other.Beside = "uuidv4"
	if !again.Done(records[0]) || !again.Done(records[2]) || again.Done(other) {
		t.Errorf("done: %v, %v, another: %v", again.Done(records[0]), again.Done(records[2]), again.Done(other))
	}

	later := environment
	later.Time, later.Machine = "later", []Setting{{"goos", "linux"}, {"load", "3"}}
	later.Database = map[string][]Setting{"postgres": {{"version", "18"}}}
	must(t, again.Start(later))

	if e := again.Data().Environment; e.Time != environment.Time || len(e.Database) != 2 {
		t.Errorf("resumed: %+v", e)
	}

	later.Settings = []Setting{{"seed", "2"}, {"rows", "7"}}
	if err := again.Start(later); err == nil || !strings.Contains(err.Error(), "seed was 1 and is 2") ||
		strings.Contains(err.Error(), "rows") {
		t.Errorf("other settings: %v", err)
	}

	must(t, again.Add(other))
	must(t, again.Close())

	text, err = os.ReadFile(path)
	must(t, err)
	for cut := range text { // as after a full disk: a run whose values are missing must be run again
		d, err := parse("", complete(text[:cut]))
		if len(d.Records) == 2 && len(d.Records[1].Values) == 0 || err != nil {
			t.Fatalf("%v after\n%s", err, text[:cut])
		}
	}
}

func TestDamagedLinesAreErrors(t *testing.T) {
	twice := "BenchmarkLoad/db=sqlite/key=auto/round=1 1 5 rate\n"
	for _, line := range []string{
		"BenchmarkLoad/db=sqlite/key=auto/round=1 1 x rate",
		"BenchmarkLoad/db=sqlite/round=1 1 1 rate", twice + twice,
	} {
		if _, err := parse("r.txt", []byte("time: now\n"+line+"\n")); err == nil ||
			!strings.Contains(err.Error(), "r.txt:") {
			t.Errorf("%s: %v", line, err)
		}
	}
}
