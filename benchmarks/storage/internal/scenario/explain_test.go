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
			want(explain(t, b, r.between("created_at"), moment(first), moment(first+rows-1)), false)
			must(t, r.addIndex(t.Context()))
			plan := explain(t, b, r.between("created_at"), moment(first), moment(first+rows-1))
			want(plan, true)
			noScan(plan)
			plan = explain(t, b, r.newest("created_at"))
			want(plan, true)
			noScan(plan)
			for _, plan := range []string{explain(t, b, r.between("id"), low, high), explain(t, b, r.newest("id"))} {
				want(plan, false)
				if e.Dialect() != "sqlite" || !strings.Contains(plan, "SCAN") { // a scan in rowid order is a scan by key
					noScan(plan)
				}
			}
		}
	})
}

// explain returns the plan of a query as text.
func explain(t *testing.T, b *Bench, query string, args ...any) string {
	t.Helper()
	prefix := "EXPLAIN "
	if b.Dialect() == "sqlite" {
		prefix = "EXPLAIN QUERY PLAN "
	}
	rows, err := b.DB().QueryContext(t.Context(), prefix+query, args...)
	must(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	must(t, err)
	var plan strings.Builder
	for rows.Next() {
		values := make([]any, len(names))
		for i := range values {
			values[i] = new([]byte)
		}
		must(t, rows.Scan(values...))
		for i, v := range values {
			if text := string(*v.(*[]byte)); names[i] != "possible_keys" {
				plan.WriteString(text + " ")
			}
		}
		plan.WriteString("\n")
	}
	must(t, rows.Err())
	return plan.String()
}
