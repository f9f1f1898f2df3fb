package main

import (
	"errors"
	"math/rand/v2"
	"time"
)

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
func classic(h *host) (process, error) {
	t := ticker{host: h}
	return process{next: func() (int64, error) {
		now := t.now()
		if now < t.last {
			return 0, errRefused
		}
		t.count(now, 1<<12)
		return t.last<<22 | h.number<<12 | t.sequence, nil
	}}, nil
}

// swapping waits after a step back of less than 15 ms. After a greater one it takes the worker at the head of the queue
// and puts its own at the tail. It keeps the worker in a file.
func swapping(h *host) (process, error) {
	draw := func() { h.file, h.queue = h.queue[0], h.queue[1:] }
	if h.file < 0 {
		draw()
	}
	t := ticker{host: h}
	return process{next: func() (int64, error) {
		switch back := t.last - t.now(); {
		case back >= 15:
			h.queue = append(h.queue, h.file)
			draw()
		case back > 0:
			h.pass(time.Duration(back) * time.Millisecond)
		}
		t.count(t.now(), 1<<10)
		return t.last<<25 | h.file<<10 | t.sequence, nil
	}}, nil
}

// randomStart begins each millisecond at a random sequence. When the sequence is back there it refuses that call, but not
// the next one. The article compares with >, which lets the sequence reach 4,096, the 0 of the next machine; here it does
// not.
func randomStart(h *host) (process, error) {
	t, start := ticker{host: h}, int64(0)
	h.starts++
	random := rand.New(rand.NewPCG(3, uint64(h.starts)))
	return process{next: func() (int64, error) {
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
	}}, nil
}

// clocks has a clock number of 4 bits in its IDs. It takes the next one after each step back and at each start, and
// keeps it in a file. The article also compares with <=, which would take one for each further ID of a millisecond.
func clocks(h *host) (process, error) {
	h.file++
	t := ticker{host: h}
	return process{next: func() (int64, error) {
		now := t.now()
		if now < t.last {
			h.file++
		}
		t.count(now, 1<<10)
		return t.last<<22 | h.file%16<<18 | h.number<<10 | t.sequence, nil
	}}, nil
}

// history stays at the last millisecond after a step back, and borrows the next one when a sequence is used up.
func history(h *host) (process, error) {
	t := ticker{host: h}
	return process{next: func() (int64, error) {
		if now := t.now(); now > t.last {
			t.last, t.sequence = now, 0
		} else if t.sequence = (t.sequence + 1) % (1 << 12); t.sequence == 0 {
			t.last++
		}
		return t.last<<22 | h.number<<12 | t.sequence, nil
	}}, nil
}

// batches reads the clock once, at its start, for which it has a number of its own. From there it counts on, 8,192 IDs
// a second.
func batches(h *host) (process, error) {
	h.starts++
	number, next := h.starts, (&ticker{host: h}).now()/1000<<13
	return process{next: func() (int64, error) {
		next++
		return next>>13<<35 | number<<13 | next%(1<<13), nil
	}}, nil
}

// randomNumbers is Math.floor(Math.random() * max) + min.
func randomNumbers(*host) (process, error) {
	random := rand.New(rand.NewPCG(3, 4))
	return process{next: func() (int64, error) { return int64(random.Float64()*9_999_999_999) + 1_000_000, nil }}, nil
}
