package scenario

import (
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

func TestGraphCountsRoundTrips(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		eachKind(t, e, graph, func(t *testing.T, params measure.Params, kind string, values map[string]float64) {
			wantPositive(t, kind, values, "time")
			if e.Dialect() == "sqlite" {
				wantNone(t, kind, values, "round_trips", "ping")
				return
			}
			wantPositive(t, kind, values, "ping")
			want := map[string]float64{
				"rows":       2 + 1 + graphLines + graphLines*graphTags, // with BEGIN and COMMIT
				"statements": 2 + 3,
				"pipelined":  1,
			}[params.Get("style")]
			if kind == "auto" && params.Get("style") == "pipelined" {
				want = 3 // the keys of two levels must be returned before the next level can be sent
			}
			if got := values["round_trips"]; got != want {
				t.Errorf("%s, %s: %v round trips, want %v", params, kind, got, want)
			}
			if params.Get("delay") == "1ms" && values["time"] < want {
				t.Errorf("%s, %s: %v ms for %v round trips of at least 1 ms", params, kind, values["time"], want)
			}
			if params.Get("delay") == "1ms" && values["ping"] < 1 {
				t.Errorf("%s, %s: a ping of %v ms", params, kind, values["ping"])
			}
		})
	})
}

func TestGraphsAreStoredWhole(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		for _, params := range graph.Cases(testOptions, e) {
			b := benchOf(t, e, "snowflake")
			b.Params = params
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
