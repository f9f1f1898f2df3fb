package lease_test

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// simChoices makes all decisions of a schedule. Each event has sources of its own, which depend on the seed and on the
// number of the event only: one for what it does, and one for whether others interrupt it. So one more decision in an event,
// such as one more reading of a clock, moves no decision of another event.
type simChoices struct {
	seed   uint64
	calm   bool   // always the first: a directed schedule, in which nothing happens by chance
	script []byte // from a fuzzer: simScript bytes for each event, which come before the seed

	events uint64
	simDecisions
}

// simDecisions belong to an event.
type simDecisions struct {
	key        uint64 // of the event
	nested     uint64 // events that have interrupted it
	does       rand.PCG
	interrupts rand.PCG
	rest       []byte // of its part of the script
}

const simScript = 16

func newSimChoices(seed uint64, script []byte) *simChoices {
	c := &simChoices{seed: seed, script: script}
	c.begin()
	return c
}

// begin begins the next event.
func (c *simChoices) begin() {
	c.events++
	c.of(mixed(c.seed ^ mixed(c.events)))

	n := min(simScript, len(c.script))
	c.rest, c.script = c.script[:n], c.script[n:]
}

// nest begins an event within an event, and returns what ends it.
func (c *simChoices) nest() (end func()) {
	c.nested++
	outer := c.simDecisions
	c.of(mixed(outer.key ^ mixed(outer.nested)))
	return func() { c.simDecisions = outer }
}

func (c *simChoices) of(key uint64) {
	c.simDecisions = simDecisions{key: key}
	c.does.Seed(key, 1)
	c.interrupts.Seed(key, 2)
}

// mixed spreads the bits of x (SplitMix64).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below returns a number in [0, n).
func (c *simChoices) below(n int) int {
	switch {
	case c.calm:
		return 0
	case len(c.rest) == 0:
		return scaled(c.does.Uint64(), n)
	}

	value := int(c.rest[0])
	c.rest = c.rest[1:]
	if n > 256 && len(c.rest) > 0 {
		value = value<<8 | int(c.rest[0])
		c.rest = c.rest[1:]
	}
	return value % n
}

// scaled makes a number in [0, n) of a random one.
func scaled(random uint64, n int) int { return int(random >> 33 * uint64(n) >> 31) }

// oneIn is true once in n times, and never in a directed schedule.
func (c *simChoices) oneIn(n int) bool { return c.below(n) == n-1 && n > 1 }

// interruptions returns how many events interrupt this one: one to three once in n times, none in a directed schedule. It
// takes nothing from what the event itself does.
func (c *simChoices) interruptions(n int) int {
	if c.calm || scaled(c.interrupts.Uint64(), n) > 0 {
		return 0
	}
	return 1 + scaled(c.interrupts.Uint64(), 3)
}

// span returns a duration in [least, most), short ones as often as ones that are twice as long.
func (c *simChoices) span(least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	doublings := bits.Len64(uint64(most / least))
	d := least << c.below(doublings)
	return min(d+d/16*time.Duration(c.below(16)), most-1)
}

// jitter returns d, plus or minus a tenth.
func (c *simChoices) jitter(d time.Duration) time.Duration {
	return d*9/10 + d/80*time.Duration(c.below(17))
}

// pick returns one of the values, in a directed schedule the first.
func pick[T any](c *simChoices, from ...T) T { return from[c.below(len(from))] }
