package scenario

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

// TestReadUsesTheIndexesThatItNames checks the plans of the queries.
func TestReadUsesTheIndexesThatItNames(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		for _, name := range []string{"snowflake", "uuidv7"} {
			b := benchOf(t, e, name, "rows", 10_000)
			r, err := b.fillRead(t.Context())
			must(t, err)
			first, rows := r.part()
			low, high := b.Value(r.sorted[first]), b.Value(r.sorted[first+rows-1])
			index := r.table + "_created_at"
			explain := func(query string, args ...any) string {
				plan, err := b.explain(t.Context(), query, args...)
				must(t, err)
				return plan
			}
			want := func(plan string, uses bool) {
				t.Helper()
				if strings.Contains(plan, index) != uses {
					t.Errorf("%s, %s: the index on created_at is used: %v, want %v:\n%s", e.Dialect(), name, !uses, uses, plan)
				}
			}
			noScan := func(plan string) {
				t.Helper()
				for _, scan := range []string{"Seq Scan", "SCAN " + r.table + "\n", "Sort", "TEMP B-TREE", " ALL "} {
					if strings.Contains(plan, scan) {
						t.Errorf("%s, %s: %q in the plan:\n%s", e.Dialect(), name, scan, plan)
					}
				}
			}
			want(explain(r.between("created_at"), moment(first), moment(first+rows-1)), false)
			must(t, r.addIndex(t.Context()))
			plan := explain(r.between("created_at"), moment(first), moment(first+rows-1))
			want(plan, true)
			noScan(plan)
			plan = explain(r.newest("created_at"))
			want(plan, true)
			noScan(plan)
			for _, plan := range []string{explain(r.between("id"), low, high), explain(r.newest("id"))} {
				want(plan, false)
				if e.Dialect() != "sqlite" || !strings.Contains(plan, "SCAN") { // a scan in rowid order is a scan by key
					noScan(plan)
				}
			}
		}
	})
}
