package scenario

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

func arrivalRun(t *testing.T, e engine.Engine, kind string, params ...any) (map[string]float64, error) {
	t.Helper()
	b := benchOf(t, e, kind, params...)
	values, err := runArrival(t.Context(), b)
	must(t, b.Clean(t.Context())) // so that the next run of a test finds the same place
	return values, err
}

func TestArrivalRepeatsToThePage(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		for _, kind := range []string{"auto", "snowflake", "uuidv7", "uuidv4"} {
			run := func() map[string]float64 {
				values, err := arrivalRun(t, e, kind, "rows", 5001, "workers", 4, "rate", 10_000, "skew", "20ms", "lag", "5ms")
				must(t, err)
				return values
			}
			first, again := run(), run()
			if len(first) == 0 || !reflect.DeepEqual(first, again) {
				t.Errorf("%s: %v, then %v with the same seed", kind, first, again)
			}
		}
	})
}

// named is an engine that has only a name.
type named struct {
	engine.Engine
	name string
}

func (n named) Name() string    { return n.name }
func (n named) Dialect() string { return n.name }

func TestArrivalCasesCanBeSimulated(t *testing.T) {
	for _, name := range []string{"sqlite", "postgres", "mariadb"} {
		for _, rows := range []int{1, 500_000} {
			seen := map[string]bool{}
			for _, p := range arrivalCases(Options{Rows: rows}, named{name: name}) {
				b := &Bench{Engine: named{name: name}, Params: p}
				o, err := b.order()
				if err != nil {
					t.Errorf("%s: %s: %v", name, p, err)
				}
				if o.Rows != min(rows, arrivalRows) || seen[p.String()] || (p.Get("fill") == "") == (name == "postgres") {
					t.Errorf("%s, %d rows: %s", name, rows, p)
				}
				seen[p.String()] = true
			}
		}
	}
}

func TestArrivalRefusesWhatItCannotSimulate(t *testing.T) {
	e := openEngine(t, "sqlite")
	if _, err := arrivalRun(t, e, "ulid-text", "rows", 10, "workers", 1, "rate", 1000); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v, want one that is ErrUnsupported", err)
	}
	for name, value := range map[string]any{"skew": "20", "workers": 0, "rate": -1, "rows": 0} {
		params := []any{"rows", 10, "workers", 1, "rate", 1000}
		if i := slices.Index(params, any(name)); i >= 0 {
			params[i+1] = value
		} else {
			params = append(params, name, value)
		}
		if _, err := arrivalRun(t, e, "snowflake", params...); err == nil {
			t.Errorf("%s=%v was taken", name, value)
		}
	}
}
