package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"io/fs"
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
	dir := filepath.Join(t.TempDir(), "report")
	out, progress, err := call(t, t.Context(), with("-out", dir)...)
	if err != nil {
		t.Fatal(err, progress)
	}

	if !strings.Contains(progress, "12 runs\n") {
		t.Errorf("progress:\n%s", progress)
	}

	before := content(t, dir, "RESULTS.md")
	if content(t, dir, "results.txt") == "" {
		t.Error("results.txt is empty")
	}

	again, _, err := call(t, t.Context(), "-report", dir)
	must(t, err)

	if again != out || content(t, dir, "RESULTS.md") != before {
		t.Error("the report is another when it is written again")
	}
}

// What is quoted in RESULTS.md and in READMEs follows from the runs that are kept.
func TestResultsFollowFromTheKeptRuns(t *testing.T) {
	const kept = "../results/"
	for line := range strings.Lines(content(t, kept, "SHA256SUMS")) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := sha256.Sum256([]byte(content(t, kept, name))); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s is not the file of SHA256SUMS", name)
		}
	}

	dir := t.TempDir()
	if _, _, err := call(t, t.Context(), "-report", kept+"storage.txt.gz", "-out", dir, "-docs", dir); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"RESULTS.md", "docs/table.md", "docs/bytes.svg"} {
		if content(t, dir, filepath.Base(name)) != content(t, "..", name) {
			t.Errorf("%s differs; write it again, see the README of the benchmarks", name)
		}
	}
}

func content(t *testing.T, dir, name string) string {
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

func TestAnInterruptedRunIsNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	progress := &ended{lines: 2, end: cancel} // Ctrl-C comes with the line of the first run
	var out strings.Builder
	arguments := []string{"-scenario", "load", "-keys", "auto,snowflake", "-rows", "300", "-rounds", "1", "-out", dir}
	if err := run(ctx, arguments, &out, progress); !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v, want context.Canceled", err)
	}

	if _, _, err := call(t, t.Context(), arguments...); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second run in the folder: %v, want fs.ErrExist", err)
	}
}

func TestBadInputIsExplained(t *testing.T) {
	_, progress, err := call(t, t.Context(), "-db", "sqlite,sqlite", "-keys", "uuidv4,uuidv4", "-rows", "30", "-rounds", "1", "-scenario", "load,load")
	// uuidv4 and the A/A row, each beside the baseline
	if err != nil || !strings.Contains(progress, "4 runs\n") {
		t.Errorf("repeated names: %v\n%s", err, progress)
	}

	all := [][]string{
		{"-report", t.TempDir()},
		{"-db", "postgres", "-postgres", "postgres://me:secret@127.0.0.1:1/x"},
		{"-db", "mariadb", "-mariadb", "me:secret@tcp(127.0.0.1:1)/"},
	}

	for _, line := range []string{
		"-nothing", "argument", "-rows 0", "-rows many", "-rows 9000000000000000000", "-rounds 0",
		"-keys nokey", "-keys ,", "-db nodb", "-scenario none", "-db postgres -keys snowflake-bigint",
	} {
		all = append(all, strings.Fields(line))
	}

	for _, bad := range all {
		out, progress, err := call(t, t.Context(), bad...)
		if err == nil || out != "" || progress != "" {
			t.Errorf("%q: error %v, output %q, progress %q", bad, err, out, progress)
			continue
		}
		if text := sentence(err); strings.ContainsAny(text, "\n") || strings.Contains(text, "secret") ||
			len(text) > 360 {
			t.Errorf("%q: %s", bad, text)
		}
	}
}

func TestNoPasswordInAReportOrInHelp(t *testing.T) {
	s, err := parse([]string{
		"-postgres", "postgres://me:secret@host/db", "-mariadb", "me:secret@tcp(host)/db",
		"-rows", "7", "-out", "x/a b",
	}, &strings.Builder{})
	must(t, err)

	if want := `go run ./storage -mariadb DSN -out "a b" -postgres DSN -rows 7`; s.command != want {
		t.Errorf("the command is %s, want %s", s.command, want)
	}

	t.Setenv("SNOWFLAKE_TEST_POSTGRES", "postgres://me:secret@host/db")
	t.Setenv("SNOWFLAKE_TEST_MYSQL", "me:secret@tcp(host)/db")
	var help strings.Builder
	if _, err := parse([]string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	if strings.Contains(help.String(), "secret") || !strings.Contains(help.String(), "-scenario") {
		t.Error(help.String())
	}

	s, err = parse(nil, &help)
	if err != nil || !strings.Contains(*s.at["postgres"], "secret") || !strings.Contains(*s.at["mariadb"], "secret") {
		t.Errorf("the environment is not used: %v", err)
	}
}

// must ends the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
