package measure_test

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

func TestMergeKeepsRunsApartAndTellsOtherSettings(t *testing.T) {
	of := func(command, cache string, rows int) measure.Data {
		return measure.Data{
			Environment: measure.Environment{
				Command: command, Database: map[string][]measure.Setting{"postgres": {{Name: "shared_buffers", Value: cache}}},
			},
			Records: []measure.Record{{
				Engine: "postgres", Scenario: "grow", Params: measure.P("rows", rows), Kind: "auto", Round: 1,
				Values: map[string]float64{"rate": 1},
			}},
		}
	}
	first := of("a", "128MB", 10)
	all, err := measure.Merge(first, of("b", "16MB", 20))
	if err != nil || len(all.Records) != 2 || all.Environment.Command != "a; b" {
		t.Fatalf("%+v, %v", all, err)
	}
	if notes := strings.Join(all.Environment.Notes[""], " "); !strings.Contains(notes, "16MB instead of 128MB") {
		t.Errorf("notes: %q", notes)
	}
	if first.Environment.Notes != nil || len(first.Records) != 1 {
		t.Error("Merge has changed its argument")
	}
	if _, err := measure.Merge(first, of("c", "16MB", 10)); err == nil || !strings.Contains(err.Error(), "rows=10") {
		t.Errorf("the same run twice: %v", err)
	}
}
