package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

func TestTheArticlesRepeatIDsWhereTheTableSaysSoAndOursNowhere(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"-json"}, &out); err != nil {
		t.Fatal(err)
	}
	var results []result
	if err := json.Unmarshal([]byte(out.String()), &results); err != nil {
		t.Fatal(err)
	}
	repeats := map[string]bool{
		"3 restarts into the same 2 s: error at a step back":                                true,
		"3 restarts into the same 2 s: wait below 15 ms, else another worker":               true,
		"3 restarts into the same 2 s: random start of the sequence":                        true,
		"3 restarts into the same 2 s: historical time":                                     true,
		"18 restarts into the same 2 s: error at a step back":                               true,
		"18 restarts into the same 2 s: wait below 15 ms, else another worker":              true,
		"18 restarts into the same 2 s: random start of the sequence":                       true,
		"18 restarts into the same 2 s: another of 16 clocks":                               true,
		"18 restarts into the same 2 s: historical time":                                    true,
		"2 workers for 2 machines, one 1.5 s behind: wait below 15 ms, else another worker": true,
		"60,000 IDs in 6 ms, a crash, the same again: historical time":                      true,
		"60,000 IDs in 6 ms, a crash, the same again: random start of the sequence":         true,
		"500,000 IDs: random numbers up to 10^10":                                           true,
	}
	ours := 0
	for _, r := range results {
		name := r.Schedule + ": " + r.Generator
		if (r.Duplicates > 0) != repeats[name] {
			t.Errorf("%s: %d duplicates", name, r.Duplicates)
		}
		delete(repeats, name)
		if strings.Contains(r.Generator, "sqlflake") {
			if ours++; r.Duplicates+r.Errors > 0 || r.IDs == 0 {
				t.Errorf("%s: %d IDs, %d duplicates, %d errors", name, r.IDs, r.Duplicates, r.Errors)
			}
		}
	}
	if ours < 10 || len(repeats) > 0 {
		t.Errorf("%d rows of ours; missing: %v", ours, repeats)
	}
	if text, err := os.ReadFile("table.md"); err != nil || string(text) != table(results) {
		t.Errorf("table.md is old, error %v; run: go run . >table.md && go test ../../internal/readme -update\n%s", err, table(results))
	}
}

// A host has 16 workers where the article has a clock number, each with a stored horizon.
func TestTheWorkersOfAHostAreTheValuesOfAClockField(t *testing.T) {
	clocked, err := snowflake.ParseLayout("epoch=2025-01-01T00:00:00Z tick=1ms time:41 machine:8 clock:4 sequence:10")
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []int64{0, 5, 255} {
		h := newWorld(t.Context(), t.TempDir()).host(number)
		tr, clocks := trial{start: sixteen, machines: [2]*host{h}}, map[int64]int{}
		const calls = 2100 // the clock is set back to where it was
		err := tr.run(t.Context(), slices.Repeat([]round{{back: calls * time.Millisecond, calls: calls, pause: time.Millisecond, end: crashes}}, 16))
		if err != nil || tr.errors > 0 || len(tr.ids) != 16*calls {
			t.Errorf("host %d: error %v, %d refused, %d IDs", number, err, tr.errors, len(tr.ids))
		}
		for _, number := range tr.ids {
			id := snowflake.ID(number)
			ours, theirs := hostWorkers.Decompose(id), clocked.Decompose(id)
			clock, err := clocked.Field(id, "clock")
			if err != nil || theirs.Worker != h.number || ours.Worker != 16*h.number+clock ||
				ours.Sequence != theirs.Sequence || !ours.Time.Equal(theirs.Time) {
				t.Fatalf("%d is %v and %v, error %v", id, ours, theirs, err)
			}
			clocks[clock]++
		}
		if len(clocks) != 16 {
			t.Errorf("host %d: %d clocks", number, len(clocks))
		}
	}
}

// 2^14 IDs of a millisecond, for which the article reuses the clock numbers.
func TestTheWorkersOfAHostIssue16384IDsAMillisecond(t *testing.T) {
	h := newWorld(t.Context(), t.TempDir()).host(5)
	var processes []process
	for range 16 {
		store, err := filelease.New(h.dir)
		if err != nil {
			t.Fatal(err)
		}
		p, err := leased(h, store, store.Close, lease.WithWorkers(80, 95),
			lease.WithGenerator(snowflake.WithLayout(hostWorkers), snowflake.WithLead(0)))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := p.end(false); err != nil {
				t.Error(err)
			}
		}()
		processes = append(processes, p)
	}
	seen, start := map[int64]bool{}, h.Elapsed()
	for range 1024 {
		for _, p := range processes {
			id, err := p.next()
			if err != nil || !hostWorkers.Time(snowflake.ID(id)).Equal(begin) {
				t.Fatal(id, err)
			}
			seen[id] = true
		}
	}
	if len(seen) != 16_384 || h.Elapsed() != start {
		t.Errorf("%d IDs in %v", len(seen), h.Elapsed()-start)
	}
	if _, err := processes[0].next(); err != nil || h.Elapsed()-start != time.Millisecond {
		t.Errorf("one more, error %v, took %v", err, h.Elapsed()-start)
	}
}

func TestItEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	if err := run(ctx, nil, &out); !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("error %v, printed %q", err, out.String())
	}
}

func TestArgumentsAreExplained(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "go run ./examples/clocks -json |") {
		t.Errorf("-h: error %v, printed %q", err, out.String())
	}
	if err := run(t.Context(), []string{"x"}, &out); err == nil || !strings.Contains(err.Error(), `unexpected argument "x"`) {
		t.Errorf("x: error %v", err)
	}
}
