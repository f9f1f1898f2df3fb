package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func record(round int) measure.Record {
	return measure.Record{Engine: "sqlite", Scenario: "load", Kind: "auto", Round: round, Values: map[string]float64{"rate": 1}}
}

// TestJournalGoesOnAfterAKill cuts the last record at each of its bytes.
func TestJournalGoesOnAfterAKill(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, journalName)
	add := func(rounds ...int) {
		j, err := OpenJournal(dir)
		must(t, err)
		for _, round := range rounds {
			must(t, j.Add(record(round)))
		}
		must(t, j.Close())
	}
	add(1, 2)
	whole, err := os.ReadFile(path)
	must(t, err)
	first := strings.Index(string(whole), "\n") + 1
	for size := first; size < len(whole); size++ {
		must(t, os.WriteFile(path, whole[:size], 0o600))
		j, err := OpenJournal(dir)
		must(t, err)
		if !j.Done(record(1)) || j.Done(record(2)) {
			t.Errorf("cut at %d: %v", size, j.Records())
		}
		_ = j.Close()
		add(2, 3)
		if records, err := Load(dir); err != nil || len(records) != 3 {
			t.Fatalf("cut at %d: %d records, %v", size, len(records), err)
		}
	}
	if err := os.WriteFile(path, []byte("{}\nnonsense\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(dir); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a broken line: %v", err)
	}
}

// silent is a Progress that does nothing.
type silent struct{}

func (silent) Start(int, int)          {}
func (silent) Step(Step)               {}
func (silent) Rows(int)                {}
func (silent) Finished(measure.Record) {}
func (silent) Stop()                   {}

type limited struct{ text string }

func (l limited) Error() string      { return l.text }
func (limited) Is(target error) bool { return target == errors.ErrUnsupported }

func TestValuesBesideANoteAreKept(t *testing.T) {
	j, err := OpenJournal(t.TempDir())
	must(t, err)
	t.Cleanup(func() { _ = j.Close() })
	s := scenario.Scenario{Name: "some", Run: func(context.Context, *scenario.Bench) (map[string]float64, error) {
		return map[string]float64{"rate": 7}, limited{"it took too long"}
	}}
	step := Step{Engine: onlyName{}, Scenario: s, Round: 1}
	if err := Do(t.Context(), []Step{step}, scenario.Options{}, j, silent{}); err != nil {
		t.Fatal(err)
	}
	if r := j.Records()[0]; r.Values["rate"] != 7 || r.Note != "it took too long" {
		t.Errorf("%+v", r)
	}
}

func TestAFolderHasOneRunAtATime(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no locks")
	}
	dir := t.TempDir()
	first, err := OpenJournal(dir)
	must(t, err)
	must(t, first.Add(record(1)))
	before, err := os.ReadFile(filepath.Join(dir, journalName))
	must(t, err)
	if _, err := OpenJournal(dir); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("the second: %v, want ErrInUse with the folder", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, journalName)); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed: %q, %v", after, err)
	}
	if records, err := Load(dir); err != nil || len(records) != 1 { // a report may be written meanwhile
		t.Errorf("%d records, %v", len(records), err)
	}
	must(t, first.Close())
	next, err := OpenJournal(dir)
	if err != nil || !next.Done(record(1)) {
		t.Fatalf("after its end: %v", err)
	}
	_ = next.Close()
}
