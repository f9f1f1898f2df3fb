package main

import (
	"maps"
	"testing"

	"github.com/sqlflake/sqlflake/internal/exampletest"
)

func TestTheArticlesRepeatIDsWhereTheTableSaysSoAndOursNowhere(t *testing.T) {
	want := map[string]bool{
		"steps back of 2 s while it runs: wait below 15 ms, else another worker":    true,
		"3 restarts into the same 2 s: error at a step back":                        true,
		"3 restarts into the same 2 s: wait below 15 ms, else another worker":       true,
		"3 restarts into the same 2 s: random start of the sequence":                true,
		"3 restarts into the same 2 s: historical time":                             true,
		"18 restarts into the same 2 s: error at a step back":                       true,
		"18 restarts into the same 2 s: wait below 15 ms, else another worker":      true,
		"18 restarts into the same 2 s: random start of the sequence":               true,
		"18 restarts into the same 2 s: another of 16 clocks":                       true,
		"18 restarts into the same 2 s: historical time":                            true,
		"18 restarts into the same 2 s: random numbers up to 10^10":                 true,
		"60,000 IDs in 6 ms, a crash, the same again: random start of the sequence": true,
		"60,000 IDs in 6 ms, a crash, the same again: historical time":              true,
		"200,000 IDs in 400 ms: random numbers up to 10^10":                         true,
	}
	got := map[string]bool{}

	for _, trouble := range troubles {
		for _, rule := range rules {
			res, err := trouble.try(rule)
			exampletest.Must(t, err)

			if res.duplicates > 0 {
				got[trouble.name+": "+rule.name] = true
			}
			if ours := rule.name == "sqlflake, a folder"; ours && res.ids != trouble.processes*trouble.rounds*trouble.calls {
				t.Errorf("%s: %+v", trouble.name, res)
			}
		}
	}

	if !maps.Equal(got, want) {
		t.Errorf("repeated IDs: %v", got)
	}
}
