package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// why explains why the focus is worse than the baseline, as far as the figures show it, and names remedies.
func why(g measure.Group, f, base measure.Figure) []string {
	if v := verdictOf(f); v != worse && (v != noisy || f.RatioMin <= 1 && f.RatioMax >= 1) {
		return nil
	}
	switch {
	case strings.HasPrefix(f.Metric.Name, "bytes_") && tiny(f, base):
		return []string{"The difference is a few pages, which may be half full; measure it with more -rows."}
	case strings.HasPrefix(f.Metric.Name, "bytes_"):
		if sentences := looseLeaves(g, f, base.Kind); sentences != nil {
			return sentences
		}
		return longNumbers(g, f, base)
	case f.Metric.Name == "rate" && f.Ratio < 1:
		return slowInsert(g, f, base)
	}
	return nil
}

// counted reports whether the database makes the keys of a kind.
func counted(kind string) bool {
	found, err := key.Find([]string{kind})
	return err == nil && found[0].Counted
}

// tiny reports whether a tree is larger by so few pages that partly filled pages may be the reason.
func tiny(f, base measure.Figure) bool {
	const pages = 3 // a tree begins with a root and two leaves
	page := 8192.0
	switch {
	case f.Engine == "sqlite":
		page = 4096
	case isInnoDB(f.Engine):
		page = 16384
	}
	rows, err := strconv.Atoi(f.Params.Get("rows"))
	return err == nil && (f.Median-base.Median)*float64(rows) < (pages+0.5)*page
}

// fuller is the fill of the focus's leaves, relative to the baseline's, from which they count as equally full.
const fuller = 0.95

// shortBatch is the largest statement of several clients, in rows, for which a lower fill factor helps.
const shortBatch = 10

// looseLeaves explains a larger tree by leaves that are less full.
func looseLeaves(g measure.Group, f measure.Figure, baseline string) []string {
	us, ok := g.Figure(focus, "density")
	them, ok2 := g.Figure(baseline, "density")
	if !ok || !ok2 || us.Median >= fuller*them.Median {
		return nil
	}
	sentences := []string{fmt.Sprintf("Its leaves are %s full against %s: keys arrived out of order, so pages were split and the halves not filled again.", withUnit(us.Metric, us.Median), withUnit(them.Metric, them.Median))}
	sent, ok := g.Figure("explicit", f.Metric.Name)
	if ok && counted(baseline) && verdictOf(sent) == worse && sent.Ratio >= fuller*f.Ratio {
		sentences = append(sentences, fmt.Sprintf("With %s it is %s times: the cause is that keys are made before their INSERT, not their layout.", kindText("explicit"), factor(sent.Ratio)))
	}
	batch, _ := strconv.Atoi(g.Params.Get("batch"))
	switch {
	case g.Engine == "postgres" && batch > shortBatch:
		return append(sentences, "Remedies: fewer rows a statement where many clients write at once, one loader for bulk loads, REINDEX CONCURRENTLY afterwards.")
	case g.Engine == "postgres":
		return append(sentences, "Remedies: a lower fill factor, as room for late keys (-advise computes it), "+
			"REINDEX CONCURRENTLY afterwards.")
	case isInnoDB(g.Engine):
		return append(sentences, "Remedies: one generator per process, few processes that write to the same table, many rows a statement, OPTIMIZE TABLE from time to time.")
	}
	return append(sentences, "Remedy: one generator for all writers of the table.")
}

// longNumbers explains a larger SQLite table by the length of its numbers, if small numbers from the client take no
// more bytes than those of the database and the leaves are equally full.
func longNumbers(g measure.Group, f, base measure.Figure) []string {
	explicit, ok := g.Figure("explicit", f.Metric.Name)
	us, okUs := g.Figure(focus, "density")
	if g.Engine != "sqlite" || !counted(base.Kind) || !okUs {
		return nil
	}
	if !ok {
		return untold(g, "the length of the numbers")
	}
	if verdictOf(explicit) != tie {
		return nil
	}
	reason := fmt.Sprintf("%s take what %s takes, so the size of the numbers is the reason: SQLite stores small numbers in fewer bytes.", kindText("explicit"), kindText(base.Kind))
	advice := "Each index that contains the key has the same cost."
	if f.Metric.Name != "bytes_secondary" { // for secondary indexes the density is not measured
		reason = fmt.Sprintf("The leaves are equally full (%s), and ", withUnit(us.Metric, us.Median)) + reason
		advice = fmt.Sprintf("In wider rows the %s stay the same and are a smaller share.",
			withUnit(f.Metric, f.Median-base.Median))
	}
	if short, ok := g.Figure("snowflake-53", f.Metric.Name); ok && short.Median < f.Median {
		advice += fmt.Sprintf(" A layout of 53 bits reduces it to %s times.", factor(short.Ratio))
	}
	if beside, ok := g.Figure("snowflake-bigint", f.Metric.Name); ok && beside.Median > f.Median {
		advice += fmt.Sprintf(" The column must be declared INTEGER PRIMARY KEY: as bigint it takes %s times.",
			factor(beside.Ratio))
	}
	return []string{capital(reason), advice}
}

// untold names the kind of key to measure in order to check a reason, if that is possible.
func untold(g measure.Group, reason string) []string {
	if g.Scenario == "gorm" { // which has no such model
		return nil
	}
	return []string{"Measure -keys explicit too to see whether " + reason + " is the reason."}
}

// slowInsert says whether sending a key takes the time or the key itself, and what reading keys back costs.
func slowInsert(g measure.Group, f, base measure.Figure) []string {
	var sentences []string
	if counted(base.Kind) && verdictOf(f) == worse { // noisy rounds have no common reason
		sentences = sending(g, f)
	}
	if made, ok := g.Figure(focus, "generator"); ok {
		// A share of the CPU that is small compared with the loss is not the reason.
		const small = 0.2
		if lost := 100 * (1 - f.RatioMax); made.Median < small*lost {
			sentences = append(sentences, fmt.Sprintf("Making the keys is not the reason: it takes %s of the CPU time.",
				withUnit(made.Metric, made.Median)))
		} else {
			sentences = append(sentences, fmt.Sprintf("Making the keys takes %s of the CPU time.",
				withUnit(made.Metric, made.Median)))
		}
	}
	back, ok := g.Figure("auto-readback", "rate")
	if ok && base.Kind == "auto" && verdictOf(back) == worse && back.RatioMax < f.RatioMin {
		sentences = append(sentences, fmt.Sprintf("A program that needs its keys has to read those of %s back, which is slower: %s times; snowflakes are known before the insert.", kindText(base.Kind), factor(back.Ratio)))
	}
	return sentences
}

// sending compares the loss of numbers that the client sends with that of the focus.
func sending(g measure.Group, f measure.Figure) []string {
	explicit, ok := g.Figure("explicit", "rate")
	if !ok {
		return untold(g, "sending a key")
	}
	name := kindText("explicit")
	overlap := explicit.RatioMin <= f.RatioMax && f.RatioMin <= explicit.RatioMax
	switch {
	case verdictOf(explicit) == worse && overlap && math.Abs(explicit.Ratio-f.Ratio) <= 0.1*explicit.Ratio:
		return []string{fmt.Sprintf("With %s it is %s times: sending a key takes the time, not its value.",
			name, factor(explicit.Ratio))}
	case verdictOf(explicit) == tie && math.Abs(explicit.Ratio-1) <= 0.1 && f.RatioMax < explicit.RatioMin:
		return []string{fmt.Sprintf("With %s it is %s times, so sending a key is not the reason.",
			name, factor(explicit.Ratio))}
	}
	return nil
}

// again is the ratio of written bytes from which pages are written more than once: no key is wide enough to explain it.
const again = 5

// rewritten names, of the slower kinds, the one that writes most, if that is a reason.
func rewritten(g measure.Group, slower []measure.Figure) []string {
	var most measure.Figure
	for _, f := range slower {
		w, ok := g.Figure(f.Kind, "written")
		if ok && verdictOf(w) == worse && w.RatioMin >= again && w.Ratio > most.Ratio {
			most = w
		}
	}
	if most.Ratio == 0 {
		return nil
	}
	return []string{fmt.Sprintf("With %s %s times the bytes are written: pages are evicted from the cache before they are full and read again.", kindText(most.Kind), factor(most.Ratio))}
}

// timeInKey compares, for the focus alone, a range of time read by the key with the same range read by a column, with
// and without an index: what the time in the key saves. Auto-increment keys have no such range.
func timeInKey(g measure.Group) []string {
	byKey, ok := g.Figure(focus, "range_key")
	scan, ok2 := g.Figure(focus, "range_scan")
	index, ok3 := g.Figure(focus, "range_time")
	if !ok || !ok2 || !ok3 || byKey.Median <= 0 || index.Median <= 0 {
		return nil
	}
	ratio := index.Median / byKey.Median
	saved := fmt.Sprintf("which is %s times", factor(ratio))
	switch {
	case measure.Thin(byKey.N) || measure.Thin(index.N):
		saved = "and there are fewer than three rounds, too few to say which of the two is faster"
	case apart(byKey) || apart(index):
		saved = "and the rounds differ too much to say which of the two is faster"
	case ratio < 0.9:
		saved = fmt.Sprintf("which is faster: %s times", factor(ratio))
	case ratio < 1.1:
		saved = "which is no faster"
	}
	unread := withUnit(scan.Metric, scan.Median)
	if !apart(byKey) && !apart(scan) {
		unread += fmt.Sprintf(" (%s times)", factor(scan.Median/byKey.Median))
	}
	return []string{
		fmt.Sprintf("A %s contains its time, so a range of time is a range of keys: %s; without an index on created_at it takes "+
			"%s, with one %s, %s.", kindText(focus), withUnit(byKey.Metric, byKey.Median), unread,
			withUnit(index.Metric, index.Median), saved),
		"Auto-increment keys contain no time; their range here is between two known rows.",
	}
}

// apart reports whether the rounds of a time differ by more than half.
func apart(f measure.Figure) bool { return f.Min <= 0 || f.Max/f.Min > 1.5 }
