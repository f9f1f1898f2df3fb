package lease_test

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// simChoices makes all decisions of a schedule: first from a script, which a fuzzer changes, then from a seed.
type simChoices struct {
	script []byte
	random *rand.Rand
}

func newSimChoices(seed uint64, script []byte) *simChoices {
	return &simChoices{script: script, random: rand.New(rand.NewPCG(seed, 0x5eed))}
}

// below returns a number in [0, n).
func (c *simChoices) below(n int) int {
	if len(c.script) == 0 {
		return c.random.IntN(n)
	}
	value := int(c.script[0])
	c.script = c.script[1:]
	if n > 256 && len(c.script) > 0 {
		value = value<<8 | int(c.script[0])
		c.script = c.script[1:]
	}
	return value % n
}

// oneIn is true once in n times. It is always false for a script of zeros, which is a schedule with few events.
func (c *simChoices) oneIn(n int) bool { return c.below(n) == n-1 }

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

func pick[T any](c *simChoices, from ...T) T { return from[c.below(len(from))] }
