package report

import (
	"math"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// mark is the sign after a ratio in tables.
type mark string

const (
	tied mark = "="
	loud mark = "~" // the rounds differ too much
	thin mark = "?" // too few rounds
)

// cell is a figure in a table.
type cell struct {
	Value, Ratio string
	Mark         mark
	Good, Bad    bool // neither a tie nor noisy
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

// verdict is the result of comparing a figure with the baseline.
type verdict int

const (
	unknown verdict = iota // nothing to compare with
	tie
	better
	worse
	noisy // the rounds differ too much to quote the ratio
	few   // too few rounds for any verdict
)

func verdictOf(f measure.Figure) verdict {
	switch {
	case math.IsNaN(f.Ratio) || math.IsInf(f.Ratio, 0):
		return unknown
	case f.Few():
		return few
	case f.Noisy(): // before the tie: rounds of 0.5 and 1.5 are noise, not equality
		return noisy
	case f.Tie():
		return tie
	case f.Metric.More == (f.Ratio > 1):
		return better
	}
	return worse
}
