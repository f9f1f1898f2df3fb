package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/scenario"
)

func TestMain(m *testing.M) {
	if !scenario.Child() {
		os.Exit(m.Run())
	}
}

// call runs the command with arguments.
func call(ctx context.Context, args ...string) (out, progress string, err error) {
	var o, p strings.Builder
	err = run(ctx, args, &o, &p)
	return o.String(), p.String(), err
}

var quick = []string{"-rounds", "1", "-turns", "1", "-turn", "100µs", "-postgres", "off", "-only", "speed"}

func TestSpeedIsMeasuredAndPrinted(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	args := slices.Concat(quick, []string{"-out", folder})
	out, _, err := call(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sqlflake", "bwmarrin/snowflake", "google/uuid v7, EnableRandPool", "time.Since", "Parse, ns"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	again, _, err := call(t.Context(), args...) // everything is done
	if err != nil || again != out {
		t.Errorf("run again: %v\n%s", err, again)
	}
	text, _, err := call(t.Context(), "-report", folder, "-json")
	var report struct {
		Environment map[string]any
		Figures     []struct{ Scenario, Kind, Metric string }
	}
	if err := errors.Join(err, json.Unmarshal([]byte(text), &report)); err != nil || len(report.Figures) < 100 {
		t.Errorf("-json: %v, %d figures", err, len(report.Figures))
	}
	if _, _, err := call(t.Context(), append(args, "-turns", "2")...); err == nil || !strings.Contains(err.Error(), "turns was 1 and is 2") {
		t.Errorf("other settings in the same folder: %v", err)
	}
	if _, _, err := call(t.Context(), "-report", folder, "-docs", t.TempDir()); err == nil {
		t.Error("the documents of READMEs were written from a part")
	}
}

func TestEndedRunGoesOn(t *testing.T) {
	folder := t.TempDir()
	args := slices.Concat(quick, []string{"-out", folder})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, progress, err := call(ctx, args...); !errors.Is(err, context.Canceled) || !strings.Contains(progress, "-out "+folder+" to continue") {
		t.Errorf("%v, %q", err, progress)
	}
	if out, _, err := call(t.Context(), args...); err != nil || !strings.Contains(out, "sqlflake") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestBadInputIsRefused(t *testing.T) {
	for _, line := range []string{
		"argument", "-nothing", "-only some", "-rounds 0", "-rounds many", "-turns 0", "-turn 1ns", "-turn 1h", "-report /nowhere",
		"-report ../results/curve.txt.gz", "-report ../results/peers.txt.gz -only speed", "-only speed -docs /nowhere",
	} {
		if out, _, err := call(t.Context(), strings.Fields(line)...); err == nil || out != "" {
			t.Errorf("%s: %v, %q", line, err, out)
		}
	}
}

func TestHelpAndFilesKeepThePassword(t *testing.T) {
	t.Setenv("SNOWFLAKE_TEST_POSTGRES", "postgres://me:secret@host/db")
	_, help, err := call(t.Context(), "-h")
	if !errors.Is(err, flag.ErrHelp) || strings.Contains(help, "secret") || !strings.Contains(help, "-only") {
		t.Errorf("%v\n%s", err, help)
	}
	s, err := parse([]string{"-postgres", "postgres://me:secret@host/db", "-out", "/tmp/a/run"}, &strings.Builder{})
	if want := "go run ./peers -out run -postgres DSN"; err != nil || s.command != want {
		t.Errorf("the command is %q, %v; want %q", s.command, err, want)
	}
}

func TestDocsNeedAllRuns(t *testing.T) {
	data, err := measure.ReadFolder("../results/peers.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	s := settings{turns: 1}
	if err := s.complete(data); err != nil {
		t.Error(err)
	}
	for _, i := range []int{0, len(data.Records) / 2, len(data.Records) - 1} {
		cut := measure.Data{Records: slices.Delete(slices.Clone(data.Records), i, i+1)}
		if err := s.complete(cut); err == nil || !strings.Contains(err.Error(), data.Records[i].ID()) {
			t.Errorf("without %s: %v", data.Records[i].ID(), err)
		}
	}
}

// What READMEs quote follows from the figures that are kept.
func TestDocsFollowFromTheKeptFigures(t *testing.T) {
	docs := t.TempDir()
	if _, _, err := call(t.Context(), "-report", "../results/peers.txt.gz", "-docs", docs); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(docs)
	if err != nil || len(files) < 7 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		got, err := os.ReadFile(filepath.Join(docs, file.Name()))
		want, missing := os.ReadFile(filepath.Join("../docs", file.Name()))
		if err := errors.Join(err, missing); err != nil || string(got) != string(want) {
			t.Errorf("docs/%s differs (%v); write it again with -report and -docs", file.Name(), err)
		}
	}
}
