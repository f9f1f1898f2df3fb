package report

import (
	"fmt"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

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
