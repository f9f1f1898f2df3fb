// Package bench has the form of what is measured: cases, each of several kinds, in rounds.
package bench

import (
	"context"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// Case is a table, or a part of one.
type Case struct {
	Scenario, Title string
	Params          measure.Params
	Kinds           []string
	Rounds          int // at most; 0 means no limit
	// Takes is about how long a round takes.
	Takes time.Duration
	// Run measures all kinds once and returns a result for each. It calls done with parts of the time.
	Run func(ctx context.Context, round int, done func(time.Duration)) (map[string]Result, error)
}

// Result is that of one kind.
type Result struct {
	Values map[string]float64
	Note   string
}

// Records returns the records of a round without results.
func (c Case) Records(round int) []measure.Record {
	var all []measure.Record
	for _, kind := range c.Kinds {
		all = append(all, measure.Record{Scenario: c.Scenario, Params: c.Params, Kind: kind, Round: round})
	}
	return all
}
