package report

import (
	"math"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// mark is how a ratio is marked in tables.
type mark string

const (
	tied mark = "="
	loud mark = "~" // the rounds disagree
	thin mark = "?" // there are too few rounds
)

// cell is a figure in a table.
type cell struct {
	Value, Ratio string
	Mark         mark
	Good, Bad    bool // beyond a tie and not noisy
}

func cellOf(f measure.Figure, baseline string) cell {
	c := cell{Value: number(f.Median, f.Metric.Digits)}
	if !hasRatio(f.Metric) || math.IsNaN(f.Ratio) {
		return c
	}
	if f.Kind == baseline {
		c.Ratio = "1"
		return c
	}
	c.Ratio = factor(f.Ratio) + "x"
	switch verdictOf(f) {
	case noisy:
		c.Mark = loud
	case few:
		c.Mark = thin
	case tie:
		c.Mark = tied
	case better:
		c.Good = true
	case worse:
		c.Bad = true
	}
	return c
}

// verdict is what a figure says against the baseline.
type verdict int

const (
	unknown verdict = iota // there is nothing to compare with
	tie
	better
	worse
	noisy // the rounds disagree too much to tell by how much
	few   // there are too few rounds to tell anything
)

func verdictOf(f measure.Figure) verdict {
	switch {
	case math.IsNaN(f.Ratio) || math.IsInf(f.Ratio, 0):
		return unknown
	case f.Few():
		return few
	case f.Noisy(): // before a tie: rounds of 0.5 and 1.5 say nothing, not that there is no difference
		return noisy
	case f.Tie():
		return tie
	case f.Metric.More == (f.Ratio > 1):
		return better
	}
	return worse
}
