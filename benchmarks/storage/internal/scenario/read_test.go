//go:build !race

package scenario

import (
	"slices"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

func TestReadMeasuresAllWaysToFindRows(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		pages := map[string]float64{}
		eachKind(t, e, read, func(t *testing.T, _ measure.Params, kind string, values map[string]float64) {
			wantPositive(t, kind, values, "lookup", "lookup_p99", "join", "newest_time", "range_time", "range_scan")
			if slices.Contains([]string{"uuidv4", "uuidv4-text"}, kind) { // a range of them is not a range of time
				wantNone(t, kind, values, "newest_key", "range_key")
			} else {
				wantPositive(t, kind, values, "newest_key", "range_key")
			}
			if values["lookup_p99"] < values["lookup"] {
				t.Errorf("%s: the 99th percentile is below the median", kind)
			}
			if e.Dialect() == "sqlite" {
				wantNone(t, kind, values, "pages_key", "pages_time")
			} else {
				wantPositive(t, kind, values, "pages_key", "pages_time")
			}
			pages[kind] = values["pages_key"]
		})
		// The pages are those of all sessions of the database, and other tests may use it: the lowest of some runs
		// counts.
		for again := 0; e.Dialect() == "postgres" && pages["uuidv4"] < 3*pages["snowflake"] && again < 30; again++ {
			for _, kind := range []string{"snowflake", "uuidv4"} {
				values, err := runCase(t, e, read, read.Cases(testOptions, e)[0], kind)
				must(t, err)
				pages[kind] = min(pages[kind], values["pages_key"])
			}
		}
		if e.Dialect() == "postgres" && pages["uuidv4"] < 3*pages["snowflake"] {
			t.Errorf("1,000 neighbours are on %v pages with random keys and %v with keys in order, want three times as many",
				pages["uuidv4"], pages["snowflake"])
		}
	})
}

// TestInTimeOrderTellsKindsApart compares keys that are drawn some time apart.
func TestInTimeOrderTellsKindsApart(t *testing.T) {
	for _, kind := range key.Kinds() {
		b := &Bench{Kind: kind, Options: testOptions}
		source, err := b.source(0, 1, nil)
		must(t, err)
		if source == nil {
			continue
		}
		rises, highest := true, any(nil)
		for range 3 {
			time.Sleep(20 * time.Millisecond) // a generator may lead the clock, and begins so
			batch := make([]any, 100)
			must(t, source.Draw(batch))
			slices.SortFunc(batch, compareKeys)
			rises = rises && (highest == nil || compareKeys(batch[0], highest) > 0)
			highest = batch[len(batch)-1]
		}
		if b.inTimeOrder() != rises {
			t.Errorf("%s: in the order of time: %v, want %v", kind.Name, !rises, rises)
		}
	}
}
