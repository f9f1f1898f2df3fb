package scenario

import (
	"errors"
	"slices"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// wantPage is the size of a page of the databases that the tests use.
func runFor(t *testing.T, e engine.Engine, s Scenario, kind string, params ...any) map[string]float64 {
	t.Helper()
	values, err := runCase(t, e, s, measure.P(params...), kind)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("%s: %v", kind, err)
	}
	for name := range values {
		if !slices.ContainsFunc(measure.Metrics(), func(m measure.Metric) bool { return m.Name == name }) {
			t.Errorf("%s: %s is not among the metrics", kind, name)
		}
	}
	return values
}

// wantOrder verifies that a figure rises from each kind to the next.
func wantOrder(t *testing.T, name string, kinds []string, values map[string]map[string]float64) {
	t.Helper()
	for i, kind := range kinds[1:] {
		if before := kinds[i]; values[before][name] >= values[kind][name] || values[before][name] <= 0 {
			t.Errorf("%s: %v for %s, %v for %s; want a rise", name, values[before][name], before, values[kind][name], kind)
		}
	}
}
