package main

import (
	"errors"
	"math/rand/v2"
	"time"
)

// rule is a generator. start starts a process with it; end, which may be nil, ends that.
type rule struct {
	name  string
	start func(h *host) (next func() (int64, error), end func(crash bool) error, err error)
}

var rules = []rule{
	{"error at a step back", article(classic)},
	{"wait below 15 ms, else another worker", article(swapping)},
	{"random start of the sequence", article(randomStart)},
	{"another of 16 clocks", article(clocks)},
	{"historical time", article(history)},
	{"batches ahead, a number for each start", article(batches)},
	{"random numbers up to 10^10", article(randomNumbers)},
	{"sqlflake, a state file", stateFile},
}

// article makes a rule of a generator from an article, which has nothing to give back.
func article(open func(h *host) func() (int64, error)) func(*host) (func() (int64, error), func(bool) error, error) {
	return func(h *host) (func() (int64, error), func(bool) error, error) { return open(h), nil, nil }
}

var errRefused = errors.New("the clock was set back, or the sequence is used up")

// ticker is what the articles' generators have in common.
type ticker struct {
	*host
	last     int64 // millisecond of the last ID
	sequence int64
}

func (t *ticker) now() int64 { return t.Now().Sub(epoch).Milliseconds() }

// count sets the millisecond and the sequence of an ID. If that millisecond has none left it waits for the next one.
func (t *ticker) count(now, size int64) {
	if t.sequence++; now != t.last {
		t.sequence = 0
	} else if t.sequence == size {
		t.pass(time.Millisecond - time.Duration(t.Now().Nanosecond())%time.Millisecond)
		now, t.sequence = t.now(), 0
	}
	t.last = now
}

// classic is Twitter's generator: a step back is an error.
func classic(h *host) func() (int64, error) {
	t := ticker{host: h}
	return func() (int64, error) {
		now := t.now()
		if now < t.last {
			return 0, errRefused
		}
		t.count(now, 1<<12)
		return t.last<<22 | h.number<<12 | t.sequence, nil
	}
}

// swapping waits after a step back of less than 15 ms. After a greater one it takes the other of two workers. It keeps
// the worker in a file.
func swapping(h *host) func() (int64, error) {
	t := ticker{host: h}
	return func() (int64, error) {
		switch back := t.last - t.now(); {
		case back >= 15:
			h.stored = 1 - h.stored
		case back > 0:
			h.pass(time.Duration(back) * time.Millisecond)
		}
		t.count(t.now(), 1<<10)
		return t.last<<25 | h.stored<<10 | t.sequence, nil
	}
}

// randomStart begins each millisecond at a random sequence. When the sequence is back there it refuses that call, but
// not the next one. The article compares with >, which lets the sequence reach 4,096, the 0 of the next machine; here
// it does not.
func randomStart(h *host) func() (int64, error) {
	t, start := ticker{host: h}, int64(0)
	random := rand.New(rand.NewPCG(3, uint64(h.starts)))
	return func() (int64, error) {
		now := t.now()
		if now < t.last {
			return 0, errRefused
		}

		if now > t.last {
			start = random.Int64N(1 << 12)
			t.last, t.sequence = now, start
		}

		t.sequence = (t.sequence + 1) % (1 << 12)
		if t.sequence == start {
			return 0, errRefused
		}

		return now<<22 | h.number<<12 | t.sequence, nil
	}
}

// clocks has a clock number of 4 bits in its IDs. It takes the next one after each step back and at each start, and
// keeps it in a file. The article also compares with <=, which would take one for each further ID of a millisecond.
func clocks(h *host) func() (int64, error) {
	h.stored++
	t := ticker{host: h}
	return func() (int64, error) {
		now := t.now()
		if now < t.last {
			h.stored++
		}
		t.count(now, 1<<10)
		return t.last<<22 | h.stored%16<<18 | h.number<<10 | t.sequence, nil
	}
}

// history stays at the last millisecond after a step back, and borrows the next one when a sequence is used up.
func history(h *host) func() (int64, error) {
	t := ticker{host: h}
	return func() (int64, error) {
		if now := t.now(); now > t.last {
			t.last, t.sequence = now, 0
		} else if t.sequence = (t.sequence + 1) % (1 << 12); t.sequence == 0 {
			t.last++
		}
		return t.last<<22 | h.number<<12 | t.sequence, nil
	}
}

// batches is Baidu's uid-generator: it reads the clock only at its start, which has its own number. From there it
// counts, 8,192 IDs a second, so its IDs do not have the times of the rows.
func batches(h *host) func() (int64, error) {
	number, next := h.starts, (&ticker{host: h}).now()/1000<<13
	return func() (int64, error) {
		next++
		return next>>13<<35 | number<<13 | next%(1<<13), nil
	}
}

// randomNumbers is Math.floor(Math.random() * max) + min.
func randomNumbers(h *host) func() (int64, error) {
	random := rand.New(rand.NewPCG(3, uint64(h.starts)))
	return func() (int64, error) { return int64(random.Float64()*9_999_999_999) + 1_000_000, nil }
}
