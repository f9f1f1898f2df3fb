package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// change is the development of a metric from small tables to large ones.
type change struct {
	kind   string
	factor float64
	last   point
}

// steady is the largest change of a metric that still counts as unchanged.
const steady = 0.15

// edge returns how many of n points at each end of a curve are averaged: a single step may contain the checkpoint that
// wrote the changes of others.
func edge(n int) int { return max(n/3, 1) }

// changeOf compares the ends of a curve; ok is false if there is nothing to compare or to divide by. rough means that
// the rounds differ too much.
func changeOf(kind string, points []point) (c change, rough, ok bool) {
	n := edge(len(points))
	if len(points) < 2 {
		return c, false, false
	}
	var first, last float64
	for i := range n {
		from, to := points[i].Figure, points[len(points)-1-i].Figure
		first, last = first+from.Median, last+to.Median
		rough = rough || apart(from) || apart(to)
	}
	return change{kind, last / first, points[len(points)-1]}, rough, first > 0
}

// curveProse names the kinds that slow down, or write more, as the table grows.
func curveProse(g measure.Group, base, baseline string) []string {
	m := measure.Find(base)
	var changed, kept []change
	var rough []string
	var from, to float64
	steps, thin := 0, false
	for _, kind := range g.Kinds {
		points := curve(g, kind, base)
		c, uneven, ok := changeOf(kind, points)
		if !ok {
			continue
		}
		if uneven {
			rough = append(rough, kindText(kind))
		}
		thin = thin || measure.Thin(points[0].Figure.N)
		from, to, steps = points[0].Rows, points[len(points)-1].Rows, max(steps, len(points))
		if gone := c.factor - 1; m.More && gone < -steady || !m.More && gone > steady {
			changed = append(changed, c)
		} else {
			kept = append(kept, c)
		}
	}
	if len(changed)+len(kept) == 0 {
		return fromNothing(g, m)
	}
	verb := "rise"
	if m.More {
		verb = "fall"
	}
	slices.SortFunc(changed, func(a, b change) int { return cmpFar(a.factor, b.factor) })
	var sentences []string
	span := fmt.Sprintf("From %s to %s rows on %s", number(from, 0), number(to, 0), engineTitle(g.Engine))
	if n := edge(steps); n > 1 {
		span += fmt.Sprintf(", the mean of the last %d of %d steps against that of the first %d,", n, steps, n)
	}
	if len(changed) > 0 {
		var parts []string
		for _, c := range changed {
			parts = append(parts, fmt.Sprintf("%s times what it was with %s", factor(c.factor), kindText(c.kind)))
		}
		sentences = append(sentences, fmt.Sprintf("%s %s %ss to %s.", span, nounOf(m), verb, list(parts)))
	}
	if len(kept) > 0 {
		var parts []string
		for _, c := range kept {
			parts = append(parts, fmt.Sprintf("%s (%s)", kindText(c.kind), factor(c.factor)))
		}
		lead := "It does not " + verb + " with"
		if len(changed) == 0 {
			lead = span + " " + nounOf(m) + " does not " + verb + " with"
		}
		sentences = append(sentences, fmt.Sprintf("%s %s.", lead, list(parts)))
	}
	switch baseChanged := slices.ContainsFunc(changed, func(c change) bool { return c.kind == baseline }); {
	case len(changed) == 0:
		sentences = append(sentences, "The table may still fit into the cache; try a larger -rows.")
	case baseChanged && counted(baseline): // the baseline's keys are not the reason
		sentences = append(sentences, fmt.Sprintf("It %ss with %s too, so the keys are not the only reason.",
			verb, kindText(baseline)))
	}
	if len(rough) > 0 {
		sentences = append(sentences, fmt.Sprintf("The rounds differ by more than half at the ends of the curves of %s, so this is an estimate; run more "+
			"-rounds on an idle machine.", list(rough)))
	}
	if thin {
		sentences = append(sentences, "There are fewer than three rounds, so part of it may be chance.")
	}
	if base != "rate" {
		return sentences
	}
	return append(sentences, atEnd(g, append(kept, changed...), baseline)...)
}

// fromNothing describes curves that begin at zero, such as bytes that the database keeps for a checkpoint.
func fromNothing(g measure.Group, m measure.Metric) []string {
	var parts []string
	for _, kind := range g.Kinds {
		points := curve(g, kind, m.Name)
		if len(points) < 2 {
			continue
		}
		most := slices.MaxFunc(points, func(a, b point) int { return sign(a.Figure.Median - b.Figure.Median) })
		parts = append(parts, fmt.Sprintf("%s with %s", withUnit(m, most.Figure.Median), kindText(kind)))
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("On %s the first steps are zero, so there is no growth factor; the largest step is %s.",
		engineTitle(g.Engine), list(parts))}
}

// nounOf returns the noun for what a curve shows.
func nounOf(m measure.Metric) string {
	if m.Name == "rate" {
		return "the rate of inserts"
	}
	return "the figure (" + m.Title + ")"
}

// lower makes the first letter lower case where a sentence continues, but not the letters of names.
func lower(s string) string {
	for _, word := range []string{capital(kindText(focus)), "Whether"} {
		if strings.HasPrefix(s, word) {
			return strings.ToLower(s[:1]) + s[1:]
		}
	}
	return s
}

// atEnd compares the focus with the baseline at the largest size.
func atEnd(g measure.Group, all []change, baseline string) []string {
	var sentences []string
	for _, c := range all {
		f := c.last.Figure
		if c.kind != focus || baseline == focus || verdictOf(f) == unknown {
			continue
		}
		if base, ok := g.Figure(baseline, f.Metric.Name); ok {
			f.Metric.Name, _, _ = cutPoint(f.Metric.Name)
			sentences = append(sentences, "At the end, "+lower(aboutFocus(f, base)))
		}
	}
	return sentences
}

func cmpFar(a, b float64) int {
	switch fa, fb := math.Abs(math.Log(a)), math.Abs(math.Log(b)); {
	case fa > fb:
		return -1
	case fa < fb:
		return 1
	}
	return 0
}
