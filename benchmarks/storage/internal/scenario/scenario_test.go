package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eachEngine runs f on all available databases in parallel, because most of the time is spent waiting for disks.
func eachEngine(t *testing.T, f func(t *testing.T, e engine.Engine)) {
	t.Helper()
	for name, at := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return t.TempDir() },
		"postgres": func(t *testing.T) string { return testdb.Postgres(t).DSN },
		"mariadb":  func(t *testing.T) string { return testdb.MariaDB(t).DSN },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := engine.Open(t.Context(), name, at(t))
			must(t, err)
			t.Cleanup(func() { must(t, e.Close()) })
			f(t, e)
		})
	}
}

// options are those of the runs below.
var options = Options{Rows: 300, Rounds: 1, Seed: 1, Batch: []int{100}, Clients: 3}

func bench(e engine.Engine, kind string, params measure.Params) *Bench {
	return &Bench{Engine: e, Options: options, Kind: key.Find([]string{kind})[0], Params: params, Round: 1}
}

// run runs a scenario once, and verifies its metrics and that its tables are removed.
func run(ctx context.Context, t *testing.T, e engine.Engine, s Scenario, params measure.Params, kind string) (
	map[string]float64, error,
) {
	t.Helper()
	b := bench(e, kind, params)
	values, err := s.Run(ctx, b)
	tables := b.tables

	if err := b.Clean(ctx); err != nil {
		t.Errorf("%s, %s: clean up: %v", s.Name, kind, err)
	}

	for _, table := range tables {
		if _, err := e.DB().ExecContext(context.WithoutCancel(ctx), "SELECT 1 FROM "+table); err == nil {
			t.Errorf("%s, %s: %s is left", s.Name, kind, table)
		}
	}

	for name, value := range values {
		base, _, _ := strings.Cut(name, "@")
		isKnown := slices.ContainsFunc(measure.Metrics(), func(m measure.Metric) bool { return m.Name == base })
		if !isKnown {
			t.Errorf("%s, %s: %s is not among the metrics", s.Name, kind, name)
		}
		if value <= 0 {
			t.Errorf("%s, %s, %s: %s = %v", s.Name, params, kind, name, value)
		}
	}

	return values, err
}

// wanted are the metrics of each scenario on all databases, apart from those of a part of the kinds.
var wanted = map[string]string{
	"load":     "rate bytes_table",
	"clients":  "rate bytes_table",
	"paced":    "bytes_table",
	"children": "rate bytes_table bytes_secondary",
	"graph":    "time",
	"grow":     "rate@30 rate@150 rate@300",
}

func TestEveryScenarioWithEveryKind(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		for _, s := range All() {
			for _, params := range s.Cases(options, e) {
				kinds, sizes := s.KindsOn(options, e.Name())
				for _, k := range append(kinds, sizes...) {
					values, err := run(t.Context(), t, e, s, params, k.Name)
					if errors.Is(err, errors.ErrUnsupported) {
						continue
					}

					if err != nil {
						t.Errorf("%s, %s, %s: %v", s.Name, params, k.Name, err)
					}

					for name := range strings.FieldsSeq(wanted[s.Name]) {
						if _, ok := values[name]; !ok {
							t.Errorf("%s, %s, %s: no %s in %v", s.Name, params, k.Name, name, values)
						}
					}

					trips := 1.0
					switch {
					case params.Get("by") == "GORM":
						trips = 5 // BEGIN, a statement for each level, COMMIT
					case k.Name == "auto":
						trips = 3 // the keys of two levels must be returned before the next level can be sent
					}

					slow := params.Get("delay") == "1ms" // a round trip
					if s.Name == "graph" &&
						(values["round_trips"] != trips || slow && values["time"] < trips) {
						t.Errorf("%s, %s: %v, want %v round trips", params, k.Name, values, trips)
					}
				}
			}
		}
	})
}

func TestGraphsAreStoredWhole(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		for _, params := range graph.Cases(options, e) {
			b := bench(e, "snowflake", params)
			_, err := graph.Run(t.Context(), b)
			must(t, err)
			tag, line, order := b.tables[0], b.tables[1], b.tables[2]
			var tags, lines int
			must(t, e.DB().QueryRowContext(t.Context(), `SELECT count(*), count(DISTINCT t.line_id) FROM `+tag+` t
				JOIN `+line+` l ON l.id = t.line_id JOIN `+order+` o ON o.id = l.order_id`).Scan(&tags, &lines))
			want := (graphWarm + b.Number("graphs")) * graphLines

			if lines != want || tags != want*graphTags {
				t.Errorf("%s: %d tags of %d lines, want %d of %d", params, tags, lines, want*graphTags, want)
			}

			must(t, b.Clean(t.Context()))
		}
	})
}

func TestClientsInsertEachRowOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		for _, kind := range []string{"auto", "snowflake", "uuidv4-text"} {
			b := bench(e, kind, nil)
			table := b.Table("once", account)
			must(t, b.Create(t.Context(), table))
			clients := 3
			if e.Name() == "sqlite" {
				clients = 1
			}

			must(t, b.Do(t.Context(), Insert{
				Table: table, Rows: 1001, Batch: 100, Clients: clients,
				Fill: fillAccount,
			}))
			var n, times int
			must(t, e.DB().QueryRowContext(t.Context(), "SELECT count(*), count(DISTINCT created_at) FROM "+table.Name).
				Scan(&n, &times))

			if n != 1001 || times != 1001 {
				t.Errorf("%s: %d rows, %d different, want 1001", kind, n, times)
			}

			must(t, b.Clean(t.Context()))
		}
	})
}

// TestCancelledRunsAndFewRows cancels each scenario at some point, and runs it with one row.
func TestCancelledRunsAndFewRows(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		few := options
		few.Rows = 1
		for _, s := range All() {
			cases := s.Cases(options, e)
			for _, after := range []time.Duration{0, 5 * time.Millisecond, 25 * time.Millisecond} {
				if len(cases) > 0 {
					ctx, cancel := context.WithTimeout(t.Context(), after)
					_, _ = run(ctx, t, e, s, cases[len(cases)-1], "snowflake") // it may be faster
					cancel()
				}
			}

			for _, params := range s.Cases(few, e) {
				if _, err := run(t.Context(), t, e, s, params, "auto"); err != nil &&
					!errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("%s, %s, one row: %v", s.Name, params, err)
				}
			}
		}
	})
}

func TestStepsOfGrow(t *testing.T) {
	for rows, want := range map[int]string{50: "[5 10 15 20 25 30 35 40 45 50]", 3: "[1 2 3]"} {
		if got := fmt.Sprint(growSteps(rows)); got != want {
			t.Errorf("%d rows: %s, want %s", rows, got, want)
		}
	}
}

func TestNamesOfKindsExist(t *testing.T) {
	for _, s := range All() {
		if names := slices.Concat(s.Kinds, s.Sizes); len(names) == 0 || len(key.Find(names)) != len(names) {
			t.Errorf("%s: not all of %q exist", s.Name, names)
		}
	}
}

// TestSizesOfEightWriters keeps what the layouts are chosen for. The order in which the rows of eight workers arrive is
// simulated, so the sizes repeat: of single rows, and of statements of ten that overlap.
func TestSizesOfEightWriters(t *testing.T) {
	const rows = 100_000
	single := key.Config{Seed: 1, Clients: 8, Pace: 125, Batch: 1}
	tens := key.Config{Seed: 1, Clients: 8, Pace: 10_000, Batch: 10}
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		metric := map[string]string{
			"mariadb": "bytes_table", "mysql": "bytes_table",
			"postgres": "bytes_primary",
		}[e.Name()]
		if metric == "" {
			return // SQLite has one writer at a time
		}

		size := func(kind string, c key.Config) float64 {
			b := bench(e, kind, measure.P("rows", rows))
			values, err := b.paced(t.Context(), c)
			must(t, err)
			must(t, b.Clean(t.Context()))
			return values[metric]
		}
		counted := size("auto", single)

		for _, test := range []struct {
			kind      string
			order     key.Config
			low, high float64 // on MariaDB and MySQL, else on PostgreSQL
			postgres  bool
		}{
			{"snowflake-clustered", single, 0.9, 1.05, false},
			{"snowflake-clustered", tens, 0.9, 1.05, false},
			{"snowflake", tens, 1.2, 3, false},
			{"snowflake", single, 0.98, 1.02, true},
			{"snowflake", tens, 0.98, 1.02, true},
			{"snowflake-clustered", tens, 1.5, 3, true},
		} {
			if test.postgres != (e.Dialect() == "postgres") {
				continue
			}

			ratio := size(test.kind, test.order) / counted
			t.Logf("%s, %d rows a statement: %.3f times auto-increment", test.kind, test.order.Batch, ratio)
			if ratio < test.low || ratio > test.high {
				t.Errorf("%s, %d rows a statement: %.3f times the size of auto-increment, want %.2f to %.2f",
					test.kind, test.order.Batch, ratio, test.low, test.high)
			}
		}
	})
}
