package scenario

import (
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

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
