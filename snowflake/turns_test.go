package snowflake_test

import (
	"slices"
	"testing"
	"time"
)

// subject is one of the things that a benchmark compares.
type subject struct {
	name string      // no spaces: it becomes part of a metric's unit
	run  func(n int) // does the operation n times
}

// turnTime is about how long a subject runs when it is its turn: long against the resolution of the clock, short
// against the time in which a shared machine changes its speed.
const turnTime = time.Millisecond

// takeTurns compares subjects on a machine whose speed varies. It goes by rounds, one for each iteration of b: in a
// round every subject runs once for about a millisecond, and each round begins with another subject. So what slows the
// machine down slows all of them down.
//
// For each subject it reports the median time of an operation, with the unit "<name>-ns", and for all but the first the
// median over the rounds of its time divided by that of the first subject, with the unit "<name>/<first name>".
func takeTurns(b *testing.B, subjects ...subject) {
	b.Helper()
	counts := make([]int, len(subjects))
	for i, s := range subjects {
		counts[i] = turnCount(s)
	}
	perOp := make([][]float64, len(subjects))  // ns by subject and round
	ratios := make([][]float64, len(subjects)) // to the first subject
	for round := 0; b.Loop(); round++ {
		for i := range subjects {
			k := (round + i) % len(subjects)
			start := time.Now()
			subjects[k].run(counts[k])
			perOp[k] = append(perOp[k], float64(time.Since(start))/float64(counts[k]))
		}
		for k := range subjects {
			ratios[k] = append(ratios[k], perOp[k][round]/perOp[0][round])
		}
	}
	b.ReportMetric(0, "ns/op") // the time of a round says nothing; 0 hides it
	for k, s := range subjects {
		b.ReportMetric(median(perOp[k]), s.name+"-ns")
		if k > 0 {
			b.ReportMetric(median(ratios[k]), s.name+"/"+subjects[0].name)
		}
	}
}

// turnCount returns how often a subject's operation fits into turnTime, at least 1.
func turnCount(s subject) int {
	s.run(1) // page in the code and the data
	for n := 1; ; n *= 2 {
		took := time.Hour
		for range 3 { // the least of three, as another program may take the processor
			start := time.Now()
			s.run(n)
			took = min(took, time.Since(start))
		}
		if took > turnTime/4 {
			return max(1, int(int64(n)*int64(turnTime)/int64(took)))
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}
