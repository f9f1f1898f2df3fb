package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// focus is the kind that sentences begin with.
const focus = "snowflake"

// phrase has the words for a metric: "With UUIDv4 [the index of the primary key takes] 1.75 times [the bytes] of ...".
type phrase struct{ what, of string }

var phrases = map[string]phrase{
	"rate":            {"rows are inserted at", "the rate"},
	"bytes_primary":   {"the index of the primary key takes", "the bytes"},
	"bytes_rows":      {"the rows with their key take", "the bytes"},
	"bytes_secondary": {"the secondary indexes take", "the bytes"},
	"bytes_table":     {"the table with all indexes takes", "the bytes"},
	"log":             {"the log takes", "the bytes"},
	"page_images":     {"the log has", "the full pages"},
	"written":         {"the disk receives", "the bytes"},
	"reads":           {"there are", "the reads from outside the cache"},
	"hits":            {"the database accesses", "the pages"},
	"cpu":             {"a row takes", "the CPU time"},
	"cpu_server":      {"a row takes", "the server's CPU time"},
	"p50":             {"the median wait is", "that"},
	"p99":             {"the 99th percentile of the wait is", "that"},
	"time":            {"the work takes", "the time"},
	"round_trips":     {"it takes", "the round trips"},
	"vacuum":          {"the vacuum takes", "the time"},
	"lookup":          {"a row is found by its key in", "the time"},
	"lookup_p99":      {"the 99th percentile of finding a row by its key is", "that"},
	"join":            {"the join takes", "the time"},
	"newest_key":      {"the newest rows are found by the key in", "the time"},
	"newest_time":     {"the newest rows are found by an index on created_at in", "the time"},
	"range_key":       {"a range of keys is read in", "the time"},
	"range_time":      {"a range of time is read by an index on created_at in", "the time"},
	"range_scan":      {"a range of time is read without an index in", "the time"},
	"pages_key":       {"for rows with neighbouring keys the database accesses", "the pages"},
	"pages_time":      {"for rows that arrived together the database accesses", "the pages"},
	"density":         {"the leaves are", "as full, against those"},
}

func phraseOf(m measure.Metric) phrase {
	if p, ok := phrases[m.Name]; ok {
		return p
	}
	return phrase{"the figure (" + m.Title + ") is", "that"}
}

// prose describes one metric of a group: the focus against the baseline, with reasons, then the other kinds.
func prose(g measure.Group, metric, baseline string) []string {
	base, ok := g.Figure(baseline, metric)
	if !ok {
		return []string{fmt.Sprintf("%s was not measured on %s, so there are no ratios.",
			capital(kindText(baseline)), engineTitle(g.Engine))}
	}
	var sentences []string
	if f, ok := g.Figure(focus, metric); ok && baseline != focus && verdictOf(f) != unknown {
		sentences = append(sentences, aboutFocus(f, base))
		sentences = append(sentences, why(g, f, base)...)
	}
	sentences = append(sentences, aboutOthers(g, base)...)
	if !base.Metric.Exact && base.N == 1 {
		sentences = append(sentences, "There was one round, so the spread of these figures is not known.")
	}
	return sentences
}

// valueProse lists the values of a metric whose ratios are not useful.
func valueProse(g measure.Group, m measure.Metric) []string {
	var parts []string
	for _, kind := range g.Kinds {
		if f, ok := g.Figure(kind, m.Name); ok {
			parts = append(parts, withUnit(m, f.Median)+" with "+kindText(kind))
		}
	}
	return []string{fmt.Sprintf("On %s it is %s.", engineTitle(g.Engine), list(parts))}
}

// aboutFocus returns the sentence about whether the focus loses, ties or wins.
func aboutFocus(f, base measure.Figure) string {
	p, us, them, where := phraseOf(f.Metric), capital(kindText(f.Kind)), kindText(base.Kind), engineTitle(f.Engine)
	if p.of == "that" {
		p.of += " of " + them
	}
	times := p.what + " " + factor(f.Ratio) + " times " + p.of
	switch verdictOf(f) {
	case few:
		return fmt.Sprintf("Whether %s or %s is ahead on %s is not known from fewer than three rounds: %s%s.",
			kindText(f.Kind), them, where, times, evidence(f, base))
	case worse:
		return fmt.Sprintf("%s loses to %s on %s: %s%s.", us, them, where, times, evidence(f, base))
	case better:
		return fmt.Sprintf("%s wins against %s on %s: %s%s.", us, them, where, times, evidence(f, base))
	case tie:
		if !f.Metric.Exact && math.Abs(f.Ratio-1) >= measure.Same { // a larger median ratio would read like a difference
			return fmt.Sprintf("%s and %s tie on %s: %s %s to %s times %s in %d rounds, on both sides of 1.",
				us, them, where, p.what, factor(f.RatioMin), factor(f.RatioMax), p.of, f.Pairs)
		}
		return fmt.Sprintf("%s and %s tie on %s: %s%s.", us, them, where, times, evidence(f, base))
	}
	side := fmt.Sprintf("Whether %s or %s is ahead on %s is not known", kindText(f.Kind), them, where)
	if f.RatioMin > 1 || f.RatioMax < 1 {
		verb := "loses to"
		if f.Metric.More == (f.RatioMin > 1) {
			verb = "wins against"
		}
		side = fmt.Sprintf("%s %s %s on %s, but the size of the difference is not known", us, verb, them, where)
	}
	return fmt.Sprintf("%s: %s between %s and %s times %s in %d rounds.",
		side, p.what, factor(f.RatioMin), factor(f.RatioMax), p.of, f.Pairs)
}

// evidence returns the basis of a ratio: the two figures if they repeat, else the range of the rounds.
func evidence(f, base measure.Figure) string {
	switch {
	case f.Metric.Exact:
		return fmt.Sprintf(" (%s against %s)",
			number(f.Median, f.Metric.Digits), withUnit(f.Metric, base.Median)+perRow(f.Metric))
	case f.Pairs > 1 && factor(f.RatioMin) == factor(f.RatioMax):
		return fmt.Sprintf(" (in each of %d rounds)", f.Pairs)
	case f.Pairs > 1:
		return fmt.Sprintf(" (%s to %s in %d rounds)", factor(f.RatioMin), factor(f.RatioMax), f.Pairs)
	}
	return " (one round)"
}

func perRow(m measure.Metric) string {
	if m.Unit == "B" {
		return " a row"
	}
	return ""
}

// mostNamed is how many kinds a sentence names before it summarizes the others.
const mostNamed = 4

// aboutOthers returns a sentence each for the kinds that are worse, better, equal, and too noisy.
func aboutOthers(g measure.Group, base measure.Figure) []string {
	by := map[verdict][]measure.Figure{}
	for _, kind := range g.Kinds {
		f, ok := g.Figure(kind, base.Metric.Name)
		if !ok || kind == base.Kind || kind == focus {
			continue
		}
		by[verdictOf(f)] = append(by[verdictOf(f)], f)
	}
	var sentences []string
	for _, v := range []verdict{worse, better} {
		if figures := by[v]; len(figures) > 0 {
			sentences = append(sentences, ranked(figures, base))
			if v == worse && base.Metric.Name == "rate" {
				sentences = append(sentences, rewritten(g, figures)...)
			}
		}
	}
	if ties := by[tie]; len(ties) > 0 {
		what := "the rounds show no difference"
		if base.Metric.Exact {
			what = "it is the same within 2 %"
		}
		sentences = append(sentences, fmt.Sprintf("With %s %s.", list(titles(ties)), what))
	}
	if thin := by[few]; len(thin) > 0 {
		var parts []string
		for _, f := range thin {
			parts = append(parts, fmt.Sprintf("%s times with %s", factor(f.Ratio), kindText(f.Kind)))
		}
		sentences = append(sentences, fmt.Sprintf("Fewer than three rounds, so no verdict: %s.", list(parts)))
	}
	if noisy := by[noisy]; len(noisy) > 0 {
		var parts []string
		for _, f := range noisy {
			parts = append(parts, fmt.Sprintf("%s to %s times with %s",
				factor(f.RatioMin), factor(f.RatioMax), kindText(f.Kind)))
		}
		sentences = append(sentences, fmt.Sprintf("Too noisy to quote: %s; run more -rounds on an idle machine.",
			list(parts)))
	}
	return sentences
}

func titles(figures []measure.Figure) []string {
	var names []string
	for _, f := range figures {
		names = append(names, kindText(f.Kind))
	}
	return names
}

// ranked names kinds by their distance from the baseline, the largest first.
func ranked(figures []measure.Figure, base measure.Figure) string {
	far := func(f measure.Figure) float64 { return max(f.Ratio, 1/f.Ratio) }
	slices.SortStableFunc(figures, func(a, b measure.Figure) int { return cmp.Compare(far(b), far(a)) })
	p := phraseOf(base.Metric)
	named := figures
	if len(figures) > mostNamed+1 { // a single remaining kind is named too
		named = figures[:mostNamed]
	}
	var parts []string
	for i, f := range named {
		figure := ""
		if f.Metric.Exact {
			figure = " (" + withUnit(f.Metric, f.Median) + ")"
		}
		if i == 0 {
			parts = append(parts, fmt.Sprintf("With %s %s %s times %s of %s%s",
				kindText(f.Kind), p.what, factor(f.Ratio), p.of, kindText(base.Kind), evidence(f, base)))
			continue
		}
		parts = append(parts, fmt.Sprintf("with %s %s times%s", kindText(f.Kind), factor(f.Ratio), figure))
	}
	text := strings.Join(parts, ", ")
	if rest := figures[len(named):]; len(rest) > 0 {
		least, most := rest[0].Ratio, rest[0].Ratio
		for _, f := range rest {
			least, most = min(least, f.Ratio), max(most, f.Ratio)
		}
		text += fmt.Sprintf("; with the other %d it is between %s and %s times", len(rest), factor(least), factor(most))
	}
	return text + "."
}
