package scenario

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

// TestCancelledRunsEndAndLeaveNothing cancels runs at some point of each scenario.
func TestCancelledRunsEndAndLeaveNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		for _, s := range All() {
			params := s.Cases(testOptions, e)
			if len(params) == 0 {
				continue
			}
			for _, after := range []time.Duration{0, 5 * time.Millisecond, 25 * time.Millisecond} {
				ctx, cancel := context.WithTimeout(t.Context(), after)
				_, err := runWith(ctx, t, e, s, params[len(params)-1], "snowflake")
				if err == nil && ctx.Err() == nil {
					t.Logf("%s was faster than %v", s.Name, after)
				}
				cancel()
			}
		}
	})
}

func TestFewRowsAreNoError(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		few := testOptions
		few.Rows = 1
		for _, s := range All() {
			cases := s.Cases(few, e)
			for _, params := range cases[max(len(cases)-1, 0):] {
				for _, kind := range []string{"auto", "uuidv4-text"} {
					_, err := runCase(t, e, s, params, kind)
					if err != nil && !errors.Is(err, errors.ErrUnsupported) {
						t.Errorf("%s, %s, %s: %v", s.Name, params, kind, err)
					}
				}
			}
		}
	})
}
