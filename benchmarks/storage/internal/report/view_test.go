package report

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// A case may need several parameters to be found, and its number of rows to be told from another.
func TestCasesWithSeveralParametersAreToldApart(t *testing.T) {
	var all []measure.Record
	add := func(by string, rows, partitions int, factor float64) {
		all = append(all, measure.Record{
			Engine: "postgres", Scenario: "partitions", Kind: "snowflake", Round: 1,
			Params: measure.P("rows", rows, "by", by, "partitions", partitions),
			Values: values{"lookup_factor": factor, "touched": float64(partitions)},
		})
	}
	add("key", 10_000, 12, 1.12)
	add("time", 10_000, 12, 2.12)
	add("key", 10_000, 120, 1.2)
	add("time", 10_000, 120, 9.2)
	r := New(measure.Environment{}, all, "auto")
	said := strings.Join(r.sentences("partitions", "postgres"), "\n")
	for _, want := range []string{"takes 1.20 times as long", "reads 120 and takes 9.20 times", "the factors are 1.12 and 2.12"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if labels := caseLabels(r.Groups, "rows"); strings.Contains(labels[0], "rows") {
		t.Errorf("cases of the same number of rows are %q", labels)
	}
	add("key", 20_000, 12, 1.3)
	labels := caseLabels(New(measure.Environment{}, all, "auto").Groups, "rows")
	seen := map[string]bool{}
	for _, label := range labels {
		if seen[label] {
			t.Errorf("two cases are %q", label)
		}
		seen[label] = true
	}
}
