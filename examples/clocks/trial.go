package main

import (
	"context"
	"errors"
	"slices"
	"time"
)

// process is a running generator. end, which may be nil, ends it as a program ends or by a crash.
type process struct {
	next func() (int64, error)
	end  func(crash bool) error
}

// trial runs the rounds of a schedule with one contender.
type trial struct {
	start    func(h *host) (process, error)
	machines [2]*host
	running  [2]process
	ids      []int64
	errors   int
	longest  time.Duration // wait of a call
}

func (t *trial) run(ctx context.Context, rounds []round) error {
	for _, r := range rounds {
		if err := t.play(ctx, r); err != nil {
			return errors.Join(err, t.end(0, false), t.end(1, false))
		}
	}
	return errors.Join(t.end(0, false), t.end(1, false))
}

func (t *trial) play(ctx context.Context, r round) (err error) {
	h, p := t.machines[r.machine], &t.running[r.machine]
	h.offset -= r.back
	if p.next == nil {
		if *p, err = t.start(h); err != nil {
			return err
		}
	}
	for range r.calls {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		before := h.elapsed
		id, err := p.next()
		t.longest = max(t.longest, h.elapsed-before)
		if err != nil {
			t.errors++
		} else {
			t.ids = append(t.ids, id)
		}
		h.pass(r.pause)
	}
	if r.end != runs {
		err = t.end(r.machine, r.end == crashes)
	}
	h.pass(r.away)
	return err
}

// end ends the process of a machine, if it has one.
func (t *trial) end(machine int, crash bool) error {
	p := t.running[machine]
	t.running[machine] = process{}
	if p.end == nil {
		return nil
	}
	return p.end(crash)
}

// result returns what the trial has shown. It reorders the IDs.
func (t *trial) result(schedule, generator string) result {
	remainders := make([]int, 16)
	for _, id := range t.ids {
		remainders[id%16]++
	}
	slices.Sort(t.ids)
	n := len(t.ids)
	return result{
		Schedule: schedule, Generator: generator, IDs: n, Duplicates: n - len(slices.Compact(t.ids)), Errors: t.errors,
		LongestWait: t.longest, TopRemainder: float64(slices.Max(remainders)) / float64(n),
	}
}
