package speed

import (
	"math/bits"
	"time"
)

// histogram counts times with an error below 2 %. Its zero value is empty.
type histogram struct {
	counts  [64 << fine]uint64
	longest time.Duration
}

// fine is the number of bits after the highest one of a time that choose its count.
const fine = 6

func (h *histogram) add(d time.Duration) {
	h.counts[place(d)]++
	h.longest = max(h.longest, d)
}

func place(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < 1<<fine {
		return int(v)
	}
	shift := bits.Len64(v) - fine - 1
	return shift<<fine + int(v>>shift)
}

// value is the least time of a place.
func value(place int) time.Duration {
	if place < 2<<fine {
		return time.Duration(place)
	}
	shift := place>>fine - 1
	return time.Duration(place-shift<<fine) << shift
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.longest = max(h.longest, other.longest)
}

// quantile returns the time that this part of all does not exceed, 0 of an empty histogram.
func (h *histogram) quantile(part float64) time.Duration {
	var all, sum uint64
	for _, n := range h.counts {
		all += n
	}
	for i, n := range h.counts {
		if sum += n; n > 0 && float64(sum) >= part*float64(all) {
			return value(i)
		}
	}
	return 0
}
