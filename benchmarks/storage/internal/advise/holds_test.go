//go:build !race

// The models of B-trees are arithmetic in one goroutine, ten times slower under the race detector. CI runs these tests
// without it.
package advise

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

const ms = time.Millisecond

// open opens an engine, or skips the test if the database is not available.
func open(t *testing.T, name string) engine.Engine {
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

// rowsFor returns fewer rows than the simulation uses: the figures do not depend on the number, except that each of
// many append positions has a page that is not full.
func rowsFor(q Question) int {
	if q.Key == firstLayout {
		return simulated
	}
	return 60_000
}

// load inserts the keys of a question into the database and returns the density and the bytes a key.
func load(t *testing.T, e engine.Engine, q Question, fill int) (density, bytes float64) {
	t.Helper()
	kind := "snowflake"
	layout := q.Key
	if q.Key == "uuidv7" {
		kind, layout = "uuidv7", ""
	}
	kinds, err := key.Find([]string{kind})
	must(t, err)
	arrival, err := scenario.Find([]string{"arrival"})
	must(t, err)
	b := &scenario.Bench{
		Engine: e, Options: scenario.Options{Seed: 7}, Kind: kinds[0], Round: 1, Progress: func(int) {},
		Params: measure.P("rows", rowsFor(q), "workers", q.Workers, "rate", int(q.Rate), "skew", q.Skew, "lag", q.Lag,
			"drawn", q.Batch, "layout", layout, "fill", fill),
	}
	values, err := arrival[0].Run(t.Context(), b)
	must(t, err)
	must(t, b.Clean(t.Context()))
	bytes = values["bytes_rows"]
	if e.Name() == "postgres" || q.Key == "uuidv7" && e.Name() == "sqlite" {
		bytes = values["bytes_primary"]
	}
	return values["density"] / 100, bytes
}

// tolerance is the largest difference from the prediction: of densities as a share of the pages, of bytes relative to
// the bytes.
const tolerance = 0.03

// cases avoid points where a little more disorder changes much; predictions are less exact there.
func cases(database string) []Question {
	list := []Question{
		{Workers: 1, Rate: 10_000},
		{Workers: 16, Rate: 10_000},
		{Workers: 16, Rate: 300_000},
		{Workers: 16, Rate: 10_000, Skew: 10 * ms},
		{Workers: 2, Rate: 10_000, Skew: 20 * ms},
		{Workers: 16, Rate: 10_000, Skew: 40 * ms},
		{Workers: 16, Rate: 10_000, Lag: 5 * ms},
		{Workers: 16, Rate: 10_000, Lag: 20 * ms},
		{Workers: 4, Rate: 10_000, Batch: 10},
		{Workers: 4, Rate: 10_000, Batch: 1000},
		{Workers: 16, Rate: 10_000, Key: firstLayout},
		{Workers: 16, Rate: 10_000, Skew: 10 * ms, Key: "uuidv7"},
	}
	if database == "sqlite" { // SQLite stores these keys in 8 bytes, because the workers' numbers are small
		list = slices.DeleteFunc(list, func(q Question) bool { return q.Key == firstLayout })
	}
	for i := range list {
		list[i].Database, list[i].Batch = database, max(list[i].Batch, 1)
		list[i].Row = 8 // what the scenario stores beside the key
		if database == "sqlite" {
			list[i].Row = 1
		}
	}
	return list
}

// holds compares all predictions with the database.
func holds(t *testing.T, database string) {
	e := open(t, database)
	for _, q := range cases(database) {
		a, err := Ask(t.Context(), q)
		must(t, err)
		density, bytes := load(t, e, q, a.Expected.Fill)
		if density == 0 {
			t.Skip("the database does not tell how full its pages are")
		}
		if math.Abs(density-a.Expected.Density) > tolerance {
			t.Errorf("%+v: pages are %.1f %% full, predicted %.1f %%", q, 100*density, 100*a.Expected.Density)
		}
		if a.Expected.Bytes > 0 && math.Abs(bytes/a.Expected.Bytes-1) > tolerance {
			t.Errorf("%+v: %.2f bytes a key, predicted %.2f", q, bytes, a.Expected.Bytes)
		}
		if a.Best == nil || a.Best.Fill == a.Expected.Fill {
			continue
		}
		// The recommended fill factor is as good as predicted, and better than the current one.
		_, best := load(t, e, q, a.Best.Fill)
		if math.Abs(best/a.Best.Bytes-1) > tolerance || best > bytes {
			t.Errorf("%+v: with fillfactor %d %.2f bytes a key, predicted %.2f; without %.2f", q, a.Best.Fill, best,
				a.Best.Bytes, bytes)
		}
	}
}

func TestAdviceHoldsOnPostgres(t *testing.T) {
	holds(t, "postgres")
}

func TestAdviceHoldsOnMariaDB(t *testing.T) {
	holds(t, "mariadb")
}

func TestAdviceHoldsOnSQLite(t *testing.T) {
	holds(t, "sqlite")
}

// TestFillFactorCarriesWhatTheRulesSay checks on the database that pages stay as full as the fill factor up to the
// disorder of the rule, and not with twice as much.
func TestFillFactorCarriesWhatTheRulesSay(t *testing.T) {
	e := open(t, "postgres")
	const rate = 10_000
	during := func(rows float64) time.Duration { return time.Duration(rows / rate * float64(time.Second)) }
	for _, fill := range []int{80, 90} {
		for _, workers := range []int{2, 3, 16} {
			skew, _, _ := carries(workers, 8, fill)
			q := Question{Workers: workers, Rate: rate, Skew: during(skew), Batch: 1}
			density, _ := load(t, e, q, fill)
			if density < float64(fill)/100-0.01 {
				t.Errorf("fillfactor %d, %d workers, a skew of %.0f rows: pages are %.1f %% full", fill, workers, skew, 100*density)
			}
			q.Skew *= 2
			if density, _ = load(t, e, q, fill); density > float64(fill)/100-0.05 {
				t.Errorf("fillfactor %d, %d workers, a skew of %.0f rows: pages are %.1f %% full, and the rule says less", fill,
					workers, 2*skew, 100*density)
			}
		}
		_, lag, batch := carries(4, 8, fill)
		for _, q := range []Question{
			{Workers: 4, Rate: rate, Lag: during(lag), Batch: 1},
			{Workers: 4, Rate: rate, Batch: int(batch / 4)},
		} {
			if density, _ := load(t, e, q, fill); density < float64(fill)/100-0.01 {
				t.Errorf("fillfactor %d, %+v: pages are %.1f %% full", fill, q, 100*density)
			}
		}
	}
}
