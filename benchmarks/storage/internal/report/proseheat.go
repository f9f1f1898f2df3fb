package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

func cutPoint(name string) (base, rows string, found bool) { return strings.Cut(name, "@") }

// dense is the minimum fill, in percent, of the leaves of a tree that grows at its end.
const dense = 85

// gridProse describes where the leaves stay full, where they are emptiest, and which fill factor is best there.
func gridProse(g *grid, subject string) []string {
	type named struct {
		row, column string
		figure      measure.Figure
	}
	var all []named
	full := 0
	for _, row := range g.Rows {
		for _, column := range g.Columns {
			if f, ok := g.Cells[[2]string{row, column}]; ok {
				all = append(all, named{row, column, f})
				if f.Median >= dense {
					full++
				}
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	worst := slices.MinFunc(all, func(a, b named) int { return sign(a.figure.Median - b.figure.Median) })
	best := slices.MaxFunc(all, func(a, b named) int { return sign(a.figure.Median - b.figure.Median) })
	m := worst.figure.Metric
	sentences := []string{fmt.Sprintf("%sthe leaves are at least %d %% full in %d of %d cases.",
		subject, dense, full, len(all))}
	least, most := number(worst.figure.Median, m.Digits), withUnit(m, best.figure.Median)
	if withUnit(m, worst.figure.Median) == most {
		return append(sentences, fmt.Sprintf("The order of arrival makes no difference here: the leaves are %s full.", most))
	}
	if best.figure.Median-worst.figure.Median < 5 {
		return append(sentences, fmt.Sprintf("The order of arrival makes little difference here: the leaves are %s to %s full.",
			least, most))
	}
	sentences = append(sentences, fmt.Sprintf("They are emptiest with %s and %s, %s full, and fullest with %s and %s, %s.",
		worst.row, worst.column, withUnit(m, worst.figure.Median), best.row, best.column, withUnit(m, best.figure.Median)))
	return append(sentences, bestFill(g)...)
}

func sign(v float64) int {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

// bestFill compares the fill factors of a grid that has several.
func bestFill(g *grid) []string {
	highest := 0
	for _, column := range g.Columns {
		highest = max(highest, fillOf(column))
	}
	by := map[int][]string{}
	cases := 0
	tight, tightLoses := 0, 0 // cases with fill factors of 100 and 90, and those in which 100 is emptier
	for _, row := range g.Rows {
		best, least, most := 0, 101.0, -1.0
		for _, column := range g.Columns {
			f, ok := g.Cells[[2]string{row, column}]
			if !ok || fillOf(column) == 0 {
				continue
			}
			least = min(least, f.Median)
			if f.Median > most {
				best, most = fillOf(column), f.Median
			}
		}
		if least < most {
			cases++
			by[best] = append(by[best], fmt.Sprintf("%s (%s %%)", row, number(most, 0)))
		}
		hundred, ok := g.Cells[[2]string{row, "fill 100"}]
		ninety, ok2 := g.Cells[[2]string{row, "fill 90"}]
		if ok && ok2 {
			tight++
			if hundred.Median < ninety.Median {
				tightLoses++
			}
		}
	}
	if cases == 0 {
		return nil
	}
	if len(by[highest]) == cases {
		return []string{fmt.Sprintf("In each case the highest fill factor, %d, leaves the fullest pages.",
			highest)}
	}
	var parts []string
	for _, fill := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%d with %s", fill, strings.Join(by[fill], " or ")))
	}
	sentences := []string{"The fill factor that leaves the fullest pages is " + strings.Join(parts, "; ") + "."}
	if tightLoses > 0 {
		sentences = append(sentences, fmt.Sprintf("A fill factor of 100 leaves emptier pages than 90 in %d of %d cases: it leaves no room for late keys.",
			tightLoses, tight))
	}
	return sentences
}

// fillOf returns the fill factor of a column; 0 if it is another column.
func fillOf(column string) int {
	text, _ := strings.CutPrefix(column, "fill ")
	fill, _ := strconv.Atoi(text)
	return fill
}
