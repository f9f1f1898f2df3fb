//go:build !race

// The models of package advise are arithmetic in one goroutine, ten times slower under the race detector. CI runs these
// tests without it.
package scenario

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/advise"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

const (
	ms          = time.Millisecond
	firstLayout = "worker/time/sequence"
)

// rowsFor returns fewer rows than the simulation uses: the figures do not depend on the number, except that each of
// many append positions has a page that is not full.
func rowsFor(q advise.Question) int {
	if q.Key == firstLayout {
		return 200_000
	}
	return 60_000
}

// loadFor inserts the keys of a question into the database and returns the density and the bytes a key.
func loadFor(t *testing.T, e engine.Engine, q advise.Question, fill int) (density, bytes float64) {
	t.Helper()
	kind := "snowflake"
	switch q.Key {
	case "uuidv7":
		kind = q.Key
	case firstLayout:
		kind = "snowflake-first"
	}
	kinds, err := key.Find([]string{kind})
	must(t, err)
	b := &Bench{
		Engine: e, Options: Options{Seed: 7}, Kind: kinds[0], Round: 1, Progress: func(int) {},
		Params: measure.P("rows", rowsFor(q), "workers", q.Workers, "rate", int(q.Rate), "skew", q.Skew, "lag", q.Lag,
			"drawn", q.Batch, "cores", 2, "fill", fill),
	}
	values, err := runArrival(t.Context(), b)
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

// predictions avoid points where a little more disorder changes much; predictions are less exact there.
func predictions(database string) []advise.Question {
	list := []advise.Question{
		{Workers: 1, Rate: 10_000},
		{Workers: 16, Rate: 10_000},
		{Workers: 16, Rate: 300_000},
		{Workers: 16, Rate: 10_000, Skew: 10 * ms},
		{Workers: 2, Rate: 10_000, Skew: 20 * ms},
		{Workers: 16, Rate: 10_000, Skew: 40 * ms},
		{Workers: 16, Rate: 10_000, Lag: 5 * ms},
		{Workers: 16, Rate: 10_000, Lag: 20 * ms},
		{Workers: 4, Rate: 10_000, Batch: 10},
		{Workers: 4, Rate: 1_000_000, Batch: 1000},
		{Workers: 16, Rate: 10_000, Key: firstLayout},
		{Workers: 16, Rate: 10_000, Skew: 10 * ms, Key: "uuidv7"},
	}
	if database == "sqlite" { // SQLite stores these keys in 8 bytes, because the workers' numbers are small
		list = slices.DeleteFunc(list, func(q advise.Question) bool { return q.Key == firstLayout })
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
	e := openEngine(t, database)
	for _, q := range predictions(database) {
		a, err := advise.Ask(t.Context(), q)
		must(t, err)
		density, bytes := loadFor(t, e, q, a.Expected.Fill)
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
		_, best := loadFor(t, e, q, a.Best.Fill)
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

// TestAdviceOnFillFactorsHolds checks on the database that pages stay as full as the fill factor up to the disorder at
// which the advisor begins to warn, and not with twice as much skew.
func TestAdviceOnFillFactorsHolds(t *testing.T) {
	e := openEngine(t, "postgres")
	const rate = 10_000
	during := func(rows float64) time.Duration { return time.Duration(rows / rate * float64(time.Second)) }
	warns := func(q advise.Question) bool {
		a, err := advise.Ask(t.Context(), q)
		must(t, err)
		return slices.ContainsFunc(a.Advice, func(a advise.Advice) bool {
			return a.Warning && (a.Name == "skew" || a.Name == "lag" || a.Name == "batches")
		})
	}
	for _, c := range []struct {
		fill, workers int
		skew, lag     float64 // the most rows without a warning
	}{
		{fill: 80, workers: 2, skew: 240},
		{fill: 80, workers: 3, skew: 360},
		{fill: 80, workers: 16, skew: 400},
		{fill: 90, workers: 2, skew: 120},
		{fill: 90, workers: 3, skew: 180},
		{fill: 90, workers: 16, skew: 200},
		{fill: 80, workers: 4, lag: 180},
		{fill: 90, workers: 4, lag: 90},
	} {
		q := advise.Question{
			Database: "postgres", Workers: c.workers, Rate: rate, Skew: during(c.skew), Lag: during(c.lag),
			Batch: 1, Row: 8, Fill: c.fill,
		}
		density, _ := loadFor(t, e, q, c.fill)
		if density < float64(c.fill)/100-0.01 || warns(q) {
			t.Errorf("%+v: pages are %.1f %% full; a warning: %t", q, 100*density, warns(q))
		}
		q.Skew, q.Lag = 2*q.Skew, 2*q.Lag
		if density, _ = loadFor(t, e, q, c.fill); c.skew > 0 && density > float64(c.fill)/100-0.05 || !warns(q) {
			t.Errorf("%+v: pages are %.1f %% full; a warning: %t", q, 100*density, warns(q))
		}
	}
}

// TestStatementsOfTheAdviceRun executes them on PostgreSQL.
func TestStatementsOfTheAdviceRun(t *testing.T) {
	e := openEngine(t, "postgres")
	a, err := advise.Ask(t.Context(), advise.Question{
		Database: "postgres", Workers: 1, Rate: 10, Batch: 1, Row: 1, Table: "Sales",
	})
	must(t, err)
	for _, s := range a.Statements {
		s = strings.Replace(s, ", ...)", ", note text)", 1)
		if _, err := e.DB().ExecContext(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	var options string
	if err := e.DB().QueryRowContext(t.Context(),
		`SELECT array_to_string(reloptions, ',') FROM pg_class WHERE relname = 'Sales_pkey'`).Scan(&options); err != nil ||
		options != "fillfactor=100" {
		t.Errorf("options %q, %v", options, err)
	}
}
