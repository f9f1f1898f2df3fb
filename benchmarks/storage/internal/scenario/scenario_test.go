package scenario

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

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

// eachEngine runs f on all available databases in parallel, because most of the time is spent waiting for disks. It
// returns when all have ended.
func eachEngine(t *testing.T, f func(t *testing.T, e engine.Engine)) {
	t.Helper()
	t.Run("on", func(t *testing.T) {
		for _, name := range []string{"sqlite", "postgres", "mariadb"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f(t, openEngine(t, name))
			})
		}
	})
}

// openEngine opens an engine, or skips the test if the database is not available.
func openEngine(t *testing.T, name string) engine.Engine {
	t.Helper()
	c := engine.Config{SQLiteDir: t.TempDir()}
	switch name {
	case "postgres":
		c.Postgres = testdb.Postgres(t).DSN
	case "mariadb":
		c.MariaDB = testdb.MariaDB(t).DSN
	}
	e, err := engine.Open(t.Context(), name, c)
	must(t, err)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// benchOf returns a bench for a kind of key. Its tables are removed when the test ends.
func benchOf(t *testing.T, e engine.Engine, kind string, params ...any) *Bench {
	t.Helper()
	kinds, err := key.Find([]string{kind})
	must(t, err)
	b := &Bench{Engine: e, Options: testOptions, Kind: kinds[0], Params: measure.P(params...), Round: 1, Progress: func(int) {}}
	t.Cleanup(func() {
		if err := b.Clean(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return b
}

// testOptions are the options of the runs below.
var testOptions = Options{Rows: 2000, Rounds: 1, Seed: 1, Batch: []int{100}, Clients: []int{1}}

// runCase runs a scenario once with a kind of key and verifies that its tables are removed.
func runCase(t *testing.T, e engine.Engine, s Scenario, params measure.Params, kindName string) (map[string]float64, error) {
	t.Helper()
	return runWith(t.Context(), t, e, s, params, kindName)
}

func runWith(ctx context.Context, t *testing.T, e engine.Engine, s Scenario, params measure.Params, kindName string) (
	map[string]float64, error,
) {
	t.Helper()
	b := benchOf(t, e, kindName)
	b.Params = params
	values, err := s.Run(ctx, b)
	if err := b.Clean(ctx); err != nil {
		t.Errorf("%s: clean up: %v", kindName, err)
	}
	if left := tablesOf(t, e); len(left) > 0 {
		t.Errorf("%s: left behind: %v", kindName, left)
	}
	for name := range values {
		base, _, _ := strings.Cut(name, "@")
		if !slices.ContainsFunc(measure.Metrics(), func(m measure.Metric) bool { return m.Name == base }) {
			t.Errorf("%s: %s is not among the metrics", kindName, name)
		}
	}
	return values, err
}

// eachKind runs all cases of a scenario with all its kinds of keys.
func eachKind(t *testing.T, e engine.Engine, s Scenario,
	check func(t *testing.T, params measure.Params, kind string, values map[string]float64),
) {
	t.Helper()
	for _, params := range s.Cases(testOptions, e) {
		for _, kind := range s.KindsOn(testOptions, e.Dialect()) {
			values, err := runCase(t, e, s, params, kind.Name)
			if err != nil {
				t.Errorf("%s, %s: %v", params, kind.Name, err)
				continue
			}
			check(t, params, kind.Name, values)
		}
	}
}

// tablesOf returns the tables in the engine's place.
func tablesOf(t *testing.T, e engine.Engine) []string {
	t.Helper()
	query := map[string]string{
		"sqlite":   "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
		"postgres": "SELECT relname FROM pg_class WHERE relnamespace = current_schema::regnamespace AND relkind = 'r'",
		"mariadb": "SELECT table_name FROM information_schema.tables WHERE table_schema = database() AND table_name <> '" +
			engine.OwnerTable + "'",
	}[e.Dialect()]
	rows, err := e.DB().QueryContext(context.WithoutCancel(t.Context()), query)
	must(t, err)
	defer rows.Close()
	var list []string
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		list = append(list, name)
	}
	must(t, rows.Err())
	return list
}

// wantPositive verifies that values has all names, each above 0.
func wantPositive(t *testing.T, kind string, values map[string]float64, names ...string) {
	t.Helper()
	for _, name := range names {
		if values[name] <= 0 {
			t.Errorf("%s: %s = %v, of %v", kind, name, values[name], slices.Sorted(maps.Keys(values)))
		}
	}
}

func wantNone(t *testing.T, kind string, values map[string]float64, names ...string) {
	t.Helper()
	for _, name := range names {
		if value, ok := values[name]; ok {
			t.Errorf("%s: %s = %v, want none", kind, name, value)
		}
	}
}
