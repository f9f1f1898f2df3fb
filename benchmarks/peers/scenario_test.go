package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) {
	if !runChild() && !runWriter() {
		os.Exit(testdb.Main(m))
	}
}

// Who issues IDs twice, and when, is what READMEs say.
func TestWhoRepeatsIDs(t *testing.T) {
	repeat := map[string][]string{
		"instances": {"bwmarrin", "sonyflake", "yitter"},
		"processes": {"bwmarrin", "sonyflake", "godruoyi", "yitter", "fixed"},
		"restart":   {"bwmarrin", "sonyflake", "godruoyi", "yitter", "fixed"},
		"crash":     {"yitter"},
		"workers":   {"yitter"},
		"end":       {"godruoyi"},
	}
	silent := map[string]string{"end": "yitter", "workers": "leased", "instances": "godruoyi"} // they refuse

	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			all := libraries()
			results, err := s.run(t.Context())
			for begin := time.Now(); err == nil && time.Since(begin) < patience; {
				// A process that starts late, or is slow, repeats nothing, or has no time left. Alone it is faster.
				again := slices.IndexFunc(results, func(r result) bool {
					return r.Duplicates == 0 && slices.Contains(repeat[s.name], r.Library) ||
						r.IDs == 0 && silent[s.name] != r.Library && (ours(r) || !s.first.Even)
				})
				if again < 0 {
					break
				}

				results[again], err = s.try(t.Context(), all[again])
			}

			must(t, err)

			for _, r := range results {
				switch {
				case s.first.Even && !ours(r): // has no such option
				case r.IDs == 0:
					if silent[s.name] != r.Library || r.Error == "" {
						t.Errorf("%s: no ID, %s", r.Library, r.Error)
					}
				case (r.Duplicates > 0) != slices.Contains(repeat[s.name], r.Library),
					(r.Negative > 0) != (s.name == "end" && r.Library == "bwmarrin"),
					s.name == "end" && (r.Failed > 0) != (r.Library == "sonyflake" || ours(r)),
					s.share && (r.Share < 25) != s.first.Even:
					t.Errorf("%s: %+v", r.Library, r)
				}
			}
		})
	}
}

func ours(r result) bool { return r.Library == "fixed" || r.Library == "leased" }

func TestCells(t *testing.T) {
	for _, tt := range []struct {
		r    result
		want string
	}{
		{result{Error: "it can't"}, "–"},
		{result{IDs: 2000}, "0"},
		{result{IDs: 2000, Duplicates: 1000}, "1,000 of 2,000"},
		{result{IDs: 8, Negative: 7}, "0, 7 negative"},
		{result{IDs: 8, Failed: 7, Error: "time is over"}, "0, returns an error"},
		{result{IDs: 8, Error: "no free worker"}, "0, one is refused"},
		{result{IDs: 8, LongestMS: 950}, "0, waits 0.9 s"},
		{result{IDs: 8, Share: 6.4}, "6 %"},
	} {
		if got := tt.r.cell(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.r, got, tt.want)
		}
	}
}

func TestTheTableIsWrittenAndRunsCanBeInterrupted(t *testing.T) {
	var all []result
	for _, s := range scenarios()[:2] {
		for _, l := range libraries() {
			all = append(all, result{Event: s.title, Library: l.name, IDs: 1})
		}
	}

	if got := table(all); strings.Count(got, "\n") != 4 || strings.Count(got, "|") != 4*(len(libraries())+2) {
		t.Errorf("the table is\n%s", got)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, io.Discard, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
