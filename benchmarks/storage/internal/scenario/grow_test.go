package scenario

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

func TestGrowMeasuresEachStep(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		eachKind(t, e, grow, func(t *testing.T, params measure.Params, kind string, values map[string]float64) {
			for step := 1; step <= 10; step++ {
				wantPositive(t, kind, values, fmt.Sprintf("rate@%d", 2000*step/10))
			}
			last := map[string]string{"sqlite": "written@2000", "postgres": "log@2000", "mariadb": "log@2000"}[e.Dialect()]
			if e.Dialect() != "sqlite" || values[last] != 0 { // only Linux reports what a process has written
				wantPositive(t, kind, values, last)
			}
			if cache := params.Get("cache"); (cache == "2 MB") != (e.Dialect() == "sqlite") {
				t.Errorf("a cache of %q", cache)
			}
		})
	})
}

// TestGrowKeepsThePointsOfASlowKind ends a run after its first steps.
func TestGrowKeepsThePointsOfASlowKind(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		b := benchOf(t, e, "uuidv4", "rows", 2_000_000)
		for b.growLimit = time.Second / 2; ; b.growLimit *= 2 { // until it is enough for the first step
			values, err := grow.Run(t.Context(), b)
			if errors.Is(err, errors.ErrUnsupported) && len(values) > 0 {
				return
			}
			if !errors.Is(err, errors.ErrUnsupported) || b.growLimit > time.Minute {
				t.Fatalf("%v, %v, want points and a note", values, err)
			}
			must(t, b.Clean(t.Context()))
		}
	})
}

func TestGrowHasFewStepsAndLongRunsMore(t *testing.T) {
	if got := growSteps(50); len(got) != 10 || got[0] != 5 || got[9] != 50 {
		t.Errorf("short: %v", got)
	}
	if got := growSteps(3); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("three rows: %v", got)
	}
	got := growSteps(10_000_000)
	if len(got) != 20 || got[0] != 25_000 || got[19] != 10_000_000 || !slices.IsSorted(got) {
		t.Errorf("long: %v", got)
	}
	for rows, want := range map[int]time.Duration{1: 10 * time.Second, 1_000_000: 30 * time.Second, 10_000_000: 5 * time.Minute} {
		if got := growLimit(rows); got != want {
			t.Errorf("%d rows: %v, want %v", rows, got, want)
		}
	}
	for _, test := range []struct {
		params measure.Params
		want   bool
	}{
		{measure.P("rows", 999_999, "cache", "2 MB"), false},
		{measure.P("rows", 1_000_000, "cache", "2 MB"), true},
		{measure.P("rows", 1000), true},
	} {
		if grow.RunsOnce(test.params) != test.want {
			t.Errorf("%s: once %v", test.params, !test.want)
		}
	}
}
