//go:build !race

package scenario

import (
	"errors"
	"math"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

// figures runs a case of a scenario with each kind of key. A kind that is not supported has no figures.
func figures(t *testing.T, e engine.Engine, s Scenario, kinds []string, params ...any) map[string]map[string]float64 {
	t.Helper()
	all := map[string]map[string]float64{}
	for _, kind := range kinds {
		values, err := runCase(t, e, s, measure.P(params...), kind)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("%s: %v", kind, err)
		}
		all[kind] = values
	}
	return all
}

// wantRise verifies that a figure rises from each kind to the next.
func wantRise(t *testing.T, all map[string]map[string]float64, name string, kinds ...string) {
	t.Helper()
	for i, kind := range kinds[1:] {
		if before, after := all[kinds[i]][name], all[kind][name]; before <= 0 || before >= after {
			t.Errorf("%s is %v for %s and %v for %s, want a rise", name, before, kinds[i], after, kind)
		}
	}
}

func TestUpdatesOfAColumnWithoutIndexAreHot(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		all := figures(t, e, update, []string{"auto", "uuidv4"}, "rows", 2000, "of", "random", "indexes", 3)
		switch e.Dialect() {
		case "postgres": // whose secondary indexes refer to rows, not to keys
			wantPositive(t, "uuidv4", all["uuidv4"], "hot", "log", "bytes_secondary")
			if all["auto"]["bytes_secondary"] != all["uuidv4"]["bytes_secondary"] {
				t.Errorf("secondary indexes take %v", all)
			}
		case "mariadb":
			wantRise(t, all, "bytes_secondary", "auto", "uuidv4")
		}
	})
}

func TestMixedWorkloadInsertsAQuarter(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		for _, kind := range []string{"auto", "explicit", "uuidv4"} {
			b := benchOf(t, e, kind, "rows", 2000, "clients", 1)
			values, err := runMixed(t.Context(), b)
			must(t, err)
			wantPositive(t, kind, values, "operations", "p50", "p99")
			var rows int
			must(t, e.DB().QueryRowContext(t.Context(), "SELECT count(*) FROM "+b.tables[0]).Scan(&rows))
			if rows != 2250 {
				t.Errorf("%s: %d rows after 1,000 operations on 2,000, want 2,250", kind, rows)
			}
			must(t, b.Clean(t.Context()))
		}
	})
}

func TestChangedTableKeepsItsOldKeys(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		all := figures(t, e, change, change.Kinds, "rows", 40_000)
		switch e.Dialect() {
		case "mariadb": // splits pages where keys rise
			wantRise(t, all, "bytes_table", "auto", "uuidv7", "uuidv4-to-v7", "uuidv4")
		case "postgres": // splits pages in the middle if they are not the last
			wantRise(t, all, "bytes_table", "auto", "uuidv7", "uuidv4", "uuidv4-to-v7")
		case "sqlite":
			wantRise(t, all, "bytes_table", "auto", "uuidv4-to-v7")
		}
	})
}

func TestRebuildMakesRandomKeysAsSmallAsOrderedOnes(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		all := figures(t, e, maintain, []string{"snowflake", "uuidv7", "uuidv4"}, "rows", 12_000)
		v7, v4 := all["uuidv7"], all["uuidv4"]
		if math.Abs(v7["rebuilt_table"]/v4["rebuilt_table"]-1) > 0.02 || v4["rebuilt_later"] <= v4["rebuilt_table"] {
			t.Errorf("after a rebuild: %v, %v", v7, v4)
		}
		wantRise(t, all, "dump_gzip", "snowflake", "uuidv7", "uuidv4")
		if e.Dialect() == "postgres" && (v7["correlation"] < 0.99 || math.Abs(v4["correlation"]) > 0.1) {
			t.Errorf("correlation %v of ordered keys, %v of random ones", v7["correlation"], v4["correlation"])
		}
	})
}

// The scenario fails if the wrong rows are found or left.
func TestEveryWayFindsTheRangeAndRemovesTheOldestTenth(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		used := map[string]float64{}
		for _, params := range timeRanges.Cases(Options{Rows: 16_000}, e) {
			by := params.Get("by")
			for _, kind := range []string{"auto", "uuidv7", "uuidv4"} {
				values, err := runCase(t, e, timeRanges, params, kind)
				if kind == "uuidv4" && by != "time" {
					if !errors.Is(err, errors.ErrUnsupported) {
						t.Errorf("%s of random keys: %v, %v", by, values, err)
					}
					continue
				}
				must(t, err)
				wantPositive(t, by+" "+kind, values, "time", "pages", "remove")
				used[by] = values["index_used"]
			}
		}
		if e.Dialect() == "postgres" && used["brin"]*5 > used["key"] {
			t.Errorf("bytes of the indexes a row: %v", used)
		}
	})
}

func TestReplicaReceivesTheLog(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		if e.Dialect() == "sqlite" {
			t.Skip("has no replicas")
		}
		all := figures(t, e, replica, []string{"uuidv4"}, "rows", 10_000, "added", 1000, "batch", 1000)
		if e.Dialect() != "postgres" {
			return // without a binary log there are no figures
		}
		wantPositive(t, "uuidv4", all["uuidv4"], "log")
		got, ok := all["uuidv4"]["replica"]
		if ok && got != all["uuidv4"]["log"] {
			t.Errorf("a replica has received %v bytes a row of %v", got, all["uuidv4"]["log"])
		}
	})
}

func TestServerMakesUUIDs(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		if e.Dialect() != "postgres" {
			t.Skip("no such kinds")
		}
		all := figures(t, e, serverkeys, serverkeys.Kinds, "rows", 10_000, "batch", 1000)
		wantRise(t, all, "bytes_primary", "snowflake", "uuidv7", "uuidv4-server")
		if got, ok := all["uuidv7-server"]["bytes_primary"]; ok && got != all["uuidv7"]["bytes_primary"] {
			t.Errorf("the index of the server's UUIDv7 takes %v bytes a row, that of the client's %v", got, all["uuidv7"])
		}
	})
}
