package audit

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/sqlflake/sqlflake/snowflake"
)

// rounding counts IDs that end as rounded numbers do. Those with twelve zero bits at the end say nothing: that is a
// sequence of 0.
type rounding struct {
	long     int64   // IDs of 18 and 19 digits
	decimal  Finding // of these, IDs with 15 digits before zeros
	floating Finding // of these, IDs that a float64 can hold, or that JavaScript prints
}

func (r *rounding) add(m *masks, id snowflake.ID) {
	if id < 1e17 || bits.TrailingZeros64(uint64(id)) >= 12 {
		return
	}

	unit := snowflake.ID(10)
	if id >= 1e18 {
		unit = 100
	}
	r.long++
	if id%(100*unit) == 0 {
		r.decimal.add(1, id)
	}

	isFloat := id%unit == 0 || snowflake.ID(float64(id)) == id
	if isFloat && m.shift == 0 { // the lowest bits are the sequence: workers are often round
		r.floating.add(1, id)
	}
}

const javaScript = "a float64, as numbers in JavaScript are"

// wasRounded returns the IDs that were rounded, and by what. By chance at most one in 125 looks rounded to decimal
// digits, and one in 4 looks like a float64.
func (t *tally) wasRounded() (found Finding, by string) {
	switch {
	case t.decimal.Count > t.long/50+10:
		return t.decimal, "15 digits, as spreadsheets have them"
	case t.floating.Count > t.long/2+10:
		return t.floating, javaScript
	}
	return t.roundedWorkers(), javaScript
}

// roundedWorkers is for layouts with the worker in the lowest bits, where a float64 makes it another one: all workers
// are round, or several have some of the IDs of another one. People choose powers of two, such as the first of a share.
func (t *tally) roundedWorkers() (found Finding) {
	sources := map[snowflake.ID]int64{} // by rounded worker: the most IDs of a worker that becomes this one
	for worker, g := range t.generators {
		if to := t.generator(snowflake.ID(float64(g.greatest))); to != worker {
			sources[to] = max(sources[to], g.ids[0]+g.ids[1])
		}
	}

	for _, worker := range slices.Sorted(maps.Keys(t.generators)) {
		g := t.generators[worker]
		n := g.ids[0] + g.ids[1]
		isFew := len(sources) == 0 || 2*n < sources[worker]
		if isFew && worker&(worker-1) != 0 {
			found.add(n, g.greatest, t.name(worker))
		}
	}

	lost := min(bits.Len64(uint64(t.greatest))-53, t.shift)
	isChance := len(found.Workers)*lost < 12 || len(found.Workers)*8 < len(t.generators)
	if isChance {
		return Finding{}
	}
	return found
}
