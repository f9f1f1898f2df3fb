//go:build !race

package scenario

import (
	"errors"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

func TestRetentionGivesPagesBackWhereKeysAreInOrder(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		options := testOptions
		options.Rows = 40_000 // a tenth of fewer rows is on few pages
		cases := retention.Cases(options, e)
		for _, kind := range []string{"snowflake", "uuidv7", "uuidv4"} {
			for _, params := range cases {
				values, err := runCase(t, e, retention, params, kind)
				if kind == "uuidv4" && params.Get("by") == "key" {
					if !errors.Is(err, errors.ErrUnsupported) {
						t.Errorf("random keys tell which rows are old: %v, %v", values, err)
					}
					continue
				}
				must(t, err)
				checkRetention(t, e, kind, values)
			}
		}
	})
}

func checkRetention(t *testing.T, e engine.Engine, kind string, values map[string]float64) {
	t.Helper()
	wantPositive(t, kind, values, "time")
	wantNone(t, kind, values, "rate")
	switch e.Dialect() {
	case "sqlite":
		wantPositive(t, kind, values, "vacuum", "freed")
	case "postgres":
		wantPositive(t, kind, values, "vacuum", "log")
		if freed, ok := values["freed"]; ok && kind == "uuidv4" && freed != 0 {
			t.Errorf("%v pages of random keys were freed by deleting one in ten", freed)
		} else if ok && kind != "uuidv4" && freed < 3 {
			t.Errorf("%s: %v pages were freed", kind, freed)
		}
	case "mariadb":
		wantPositive(t, kind, values, "log", "freed")
		wantNone(t, kind, values, "vacuum")
	}
}
