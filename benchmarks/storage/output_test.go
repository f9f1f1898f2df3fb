package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// call runs the tool with arguments.
func call(t *testing.T, ctx context.Context, args ...string) (out, progress string, err error) {
	t.Helper()
	var o, p strings.Builder
	err = run(ctx, args, &o, &p)
	return o.String(), p.String(), err
}

var small = []string{"-scenario", "load", "-keys", "auto,snowflake,uuidv4", "-rows", "300", "-rounds", "2"}

func with(args ...string) []string { return append(append([]string{}, small...), args...) }

func TestFolderOfAReport(t *testing.T) {
	dir, docs := filepath.Join(t.TempDir(), "report"), t.TempDir()
	out, progress, err := call(t, t.Context(), with("-out", dir)...)
	if err != nil {
		t.Fatal(err, progress)
	}
	if !strings.Contains(out, "SQLite, 300 rows, 1,000 a statement") || !strings.Contains(progress, "12 of 12 runs are done") {
		t.Errorf("out:\n%s\nprogress:\n%s", out, progress)
	}
	before := read(t, dir, "index.html")
	for _, name := range []string{"RESULTS.md", "summary.csv", "summary.json", "results.jsonl", "environment.json"} {
		if read(t, dir, name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	again, _, err := call(t, t.Context(), "-report", dir, "-docs", docs)
	if err != nil {
		t.Fatal(err)
	}
	if again != out || read(t, dir, "index.html") != before {
		t.Error("the report is another when it is written again")
	}
	if !strings.Contains(read(t, docs, "bytes.svg"), "SQLite") {
		t.Error("bytes.svg has no SQLite")
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// ended cancels a context after a number of writes.
type ended struct {
	strings.Builder
	lines int
	end   context.CancelFunc
}

func (e *ended) Write(p []byte) (int, error) {
	if e.lines--; e.lines == 0 {
		e.end()
	}
	return e.Builder.Write(p)
}

func TestEndedReportGoesOn(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := call(t, t.Context(), "-scenario", "load", "-keys", "auto,snowflake", "-rows", "300", "-rounds", "1",
		"-batch", "1", "-out", dir); err != nil {
		t.Fatal(err)
	}
	// One batch size is measured, and Ctrl-C comes when the next begins.
	ctx, cancel := context.WithCancel(t.Context())
	progress := &ended{lines: 1, end: cancel}
	var out strings.Builder
	again := []string{"-scenario", "load", "-keys", "auto,snowflake", "-rows", "300", "-rounds", "1", "-out", dir}
	err := run(ctx, again, &out, progress)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v, want context.Canceled", err)
	}
	if !strings.Contains(out.String(), "30 rows, 1 a statement") ||
		!strings.Contains(out.String(), "Unfinished: 2 runs are not done.") {
		t.Errorf("what was finished is not reported:\n%s", &out)
	}
	if !strings.Contains(progress.String(), "2 of 4 runs are not done. Run the same command with -out "+dir) {
		t.Errorf("nothing says how to go on:\n%s", &progress.Builder)
	}
	text, _, err := call(t, t.Context(), again...)
	if err != nil || strings.Contains(text, "Unfinished") || !strings.Contains(text, "300 rows, 1,000 a statement") {
		t.Errorf("it did not go on: %v\n%s", err, text)
	}
}

func TestFormatsAndBadInput(t *testing.T) {
	out, _, err := call(t, t.Context(), with("-format", "csv")...)
	if err != nil || !strings.HasPrefix(out, "engine,scenario,params,kind,metric,unit,n,median,") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, _, err = call(t, t.Context(), with("-format", "json")...); err != nil || !strings.HasPrefix(out, "{") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, bad := range [][]string{
		{"-report", filepath.Join(t.TempDir(), "none")},
		{"-report", t.TempDir()},
		{"-report", "a", "-out", "b"},
		{"-format", "xml"},
		{"-rows", "0"},
		{"-rounds", "0"},
		{"-rows", "many"},
		{"-keys", "nokey"},
		{"-db", "nodb"},
		{"-db", ","},
		{"-scenario", "none"},
		{"-batch", "8001"},
		{"-batch", "0"},
		{"-nothing"},
		{"argument"},
		{"-baseline", "none"},
		{"-db", "postgres", "-postgres", "postgres://me:secret@127.0.0.1:1/x"},
		{"-db", "mariadb", "-mariadb", "me:secret@tcp(127.0.0.1:1)/"},
		{"-dir", filepath.Join(t.TempDir(), "missing")},
		{"-advise", "-workers", "0"},
		{"-advise", "-rate", "many"},
	} {
		out, progress, err := call(t, t.Context(), bad...)
		if err == nil || out != "" || progress != "" {
			t.Errorf("%q: error %v, output %q, progress %q", bad, err, out, progress)
			continue
		}
		if text := sentence(err); strings.ContainsAny(text, "\n") || strings.Contains(text, "secret") || len(text) > 320 {
			t.Errorf("%q: %s", bad, text)
		}
	}
}

func TestNoPasswordInAReport(t *testing.T) {
	s, err := parse([]string{
		"-postgres", "postgres://me:secret@host/db", "-mariadb", "me:secret@tcp(host)/db",
		"-rows", "7", "-durable", "-out", "x/a b",
	}, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `go run ./storage -durable -mariadb DSN -out "a b" -postgres DSN -rows 7`; s.command != want {
		t.Errorf("the command is %s, want %s", s.command, want)
	}
}

func TestHelpKeepsThePassword(t *testing.T) {
	t.Setenv("SNOWFLAKE_TEST_POSTGRES", "postgres://me:secret@host/db")
	t.Setenv("SNOWFLAKE_TEST_MYSQL", "me:secret@tcp(host)/db")
	var help strings.Builder
	if _, err := parse([]string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	if strings.Contains(help.String(), "secret") || !strings.Contains(help.String(), "-cleanup") {
		t.Error(help.String())
	}
	s, err := parse(nil, &help)
	if err != nil || !strings.Contains(s.config.Postgres, "secret") || !strings.Contains(s.config.MariaDB, "secret") {
		t.Errorf("the environment is not used: %v", err)
	}
}

func TestOneRow(t *testing.T) {
	out, _, err := call(t, t.Context(), "-rows", "1", "-rounds", "1")
	if err != nil || !strings.Contains(out, "1 row") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestReportHasTheBaselineOfItsRun(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := call(t, t.Context(), with("-out", dir, "-baseline", "snowflake")...); err != nil {
		t.Fatal(err)
	}
	out, _, err := call(t, t.Context(), "-report", dir)
	if err != nil || !strings.Contains(out, "x: times snowflake of") {
		t.Errorf("%v\n%s", err, out)
	}
	out, _, err = call(t, t.Context(), "-report", dir, "-baseline", "auto")
	if err != nil || !strings.Contains(out, "x: times auto of") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestNothingToCleanUp(t *testing.T) {
	out, _, err := call(t, t.Context(), "-cleanup", "-dir", t.TempDir())
	if err != nil || out != "There is nothing to remove.\n" {
		t.Errorf("%q, %v", out, err)
	}
}
