package measure

import (
	"errors"
	"io/fs"
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

var (
	settings = []Setting{
		{"time", "2026-11-22T10:00:00Z"},
		{"command", "go run ./storage -db sqlite"},
		{"goos", "linux"},
		{"load", "0.10"},
		{"sqlite.version", "SQLite 3.45.1"},
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

func TestJournalIsReadAfterAFullDisk(t *testing.T) {
	dir := t.TempDir()
	j, err := CreateJournal(dir)
	must(t, err)
	must(t, j.Start(settings))
	for _, r := range records {
		must(t, j.Add(r))
	}
	must(t, j.AddNotes("sqlite", "two\nlines", "two lines"))
	must(t, j.Close())

	if _, err := CreateJournal(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second run in the folder: %v", err)
	}

	path := filepath.Join(dir, resultsName)
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append(text, "BenchmarkLoad/db=sqlite/key=auto/round=3 1 12"...), 0o600))

	want := Data{Environment{settings, []string{"two lines"}}, records}
	got, err := ReadFolder(dir)
	must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}

	for cut := range text {
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
