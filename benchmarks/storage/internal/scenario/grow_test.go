package scenario

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

func TestGrowMeasuresEachStep(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		eachKind(t, e, grow, func(t *testing.T, params measure.Params, kind string, values map[string]float64) {
			for step := 1; step <= growSteps; step++ {
				wantPositive(t, kind, values, fmt.Sprintf("rate@%d", 2000*step/growSteps))
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

func TestGrowEndsWhenItsTimeIsOver(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		b := benchOf(t, e, "snowflake")
		table := b.Table("slow", account)
		must(t, b.Create(t.Context(), table))
		source, err := b.Kind.New(key.Config{Clients: 1})
		must(t, err)
		_, err = b.growBy(t.Context(), table, source, 0, 10, time.Now().Add(-time.Second))
		if !errors.Is(err, errSlow) || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v, want errSlow, which makes a note", err)
		}
	})
}
