package processtest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// KilledProcesses kills issuers at random instants, while they start or while they issue, and starts the next one at
// once. There are fewer workers than processes that have died within two windows, so each one is taken over again and
// again. What else happens is up to meanwhile, which may start another issuer and returns it.
func KilledProcesses(t *testing.T, place string, store leasestore.Store, meanwhile func(o Order) []*Process) {
	kills := Scale(8, 25) // of each of two sides
	o := Order{Place: place, First: 0, Last: 3, Window: 200 * time.Millisecond}
	var processes [2][]*Process
	var wait sync.WaitGroup
	for side := range processes {
		wait.Go(func() {
			for n := 0; n <= kills && !t.Failed(); n++ {
				p, err := Start(t, o)
				if err == nil {
					processes[side] = append(processes[side], p)
					if n < kills {
						err = killAtRandom(p)
					} else {
						err = errors.Join(p.AwaitID(), p.Finish())
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}

	defer wait.Wait()
	more := meanwhile(o)
	wait.Wait()
	c := TakeCensus(slices.Concat(processes[0], processes[1], more))
	c.Check(t, store)
	if c.Takeovers == 0 {
		t.Error("no worker was ever taken over")
	}
}

// killAtRandom kills one in five while it starts, the others after the first ID.
func killAtRandom(p *Process) error {
	if rand.N(5) == 0 {
		time.Sleep(rand.N(60 * time.Millisecond))
	} else {
		if err := p.AwaitID(); err != nil {
			return err
		}
		time.Sleep(rand.N(250 * time.Millisecond))
	}
	if p.HasEnded() {
		return fmt.Errorf("ended by itself: %s", p)
	}
	return p.Kill()
}

// NothingElse is for KilledProcesses.
func NothingElse(Order) []*Process { return nil }

// ProcessesStartedTogether starts 32 processes at the same instant on an empty store: they also create its table, and
// each must get its own worker.
func ProcessesStartedTogether(t *testing.T, place string, open func() leasestore.Store) {
	const count = 32
	// No worker may expire before all are counted.
	o := Order{Place: place, First: 0, Last: count - 1, Window: Patience, Pace: 10 * time.Millisecond}
	o.Begin = time.Now().Add(count * 100 * time.Millisecond) // when most have started
	processes := make([]*Process, count)
	for i := range processes {
		processes[i] = MustStart(t, o)
	}

	workers := map[int64]bool{}
	for _, p := range processes {
		Eventually(t, "a worker and its IDs", func() bool {
			hasBoth := p.Count() >= 2000 && len(p.Noted(lease.Acquired)) > 0
			return hasBoth || p.HasEnded()
		}, p)
		for _, n := range p.Noted(lease.Acquired) {
			workers[n.Worker] = true
		}
	}

	// They live and hold their workers until now.
	if len(workers) != count {
		t.Errorf("%d processes have %d workers", count, len(workers))
	}

	for _, p := range processes {
		if err := p.Finish(); err != nil {
			t.Error(err)
		}
	}

	TakeCensus(processes).Check(t, open())
}

// span is a sequence of IDs without a gap, both ends included.
type span struct {
	first, last snowflake.ID
	by          int // the process
}

// record has all IDs that a process has written, in spans: a busy generator uses up whole ticks, so there are a
// thousand times fewer spans than IDs.
type record struct {
	spans []span
	count int
	last  snowflake.ID
	cut   []byte // of an ID whose rest has not come yet, and after a kill may never come
	err   error  // the first ID that was not above the one before
}

// add adds IDs in the form in which issuers write them.
func (r *record) add(text []byte) {
	text = append(r.cut, text...)
	for ; len(text) >= idBytes; text = text[idBytes:] {
		id := snowflake.ID(binary.LittleEndian.Uint64(text))
		if id <= r.last && r.err == nil {
			r.err = fmt.Errorf("ID %d came after %d", id, r.last)
		}

		r.count++
		if n := len(r.spans); n > 0 && id == r.last+1 {
			r.spans[n-1].last = id
		} else {
			r.spans = append(r.spans, span{first: id, last: id})
		}
		r.last = id
	}
	r.cut = bytes.Clone(text)
}

// Census is the set of the IDs that all processes have ever written.
type Census struct {
	IDs       int
	Takeovers int

	spans  []span
	reigns map[[2]int64]int // by worker and epoch: the process
	err    error            // all that is wrong
}

// TakeCensus waits for the end of all processes.
func TakeCensus(processes []*Process) *Census {
	c := &Census{reigns: map[[2]int64]int{}}
	for by, p := range processes {
		c.add(by, p)
	}
	return c
}

func (c *Census) add(by int, p *Process) {
	<-p.Ended
	c.IDs += p.ids.count
	if err := errors.Join(p.ids.err, p.err); err != nil {
		c.failf("process %d: %w", by, err)
	}

	for _, s := range p.ids.spans {
		s.by = by
		c.spans = append(c.spans, s)
	}

	var horizon int64
	for _, n := range p.notes {
		switch n.Kind {
		case lease.Acquired:
			if n.Epoch > 1 {
				c.Takeovers++
			}
			reign := [2]int64{n.Worker, n.Epoch}
			if other, ok := c.reigns[reign]; ok {
				c.failf("processes %d and %d both had worker %d under epoch %d", other, by, n.Worker, n.Epoch)
			}
			c.reigns[reign], horizon = by, 0
			fallthrough
		case lease.Extended:
			if n.Horizon < horizon {
				c.failf("process %d: the horizon %d comes after %d", by, n.Horizon, horizon)
			}
			horizon = n.Horizon
		}
	}
}

func (c *Census) failf(format string, args ...any) {
	c.err = errors.Join(c.err, fmt.Errorf(format, args...))
}

// Check fails the test if an ID came twice, was out of order within its process, or is at or above the horizon that the
// store has at the end.
func (c *Census) Check(t *testing.T, store leasestore.Store) {
	t.Helper()
	rows, err := store.List(t.Context(), lease.DefaultNamespace)
	must(t, err)
	horizons := map[int64]int64{} // by worker
	for _, row := range rows {
		horizons[row.Worker] = row.Horizon
	}

	if c.IDs == 0 || c.err != nil {
		t.Errorf("%d IDs, %v", c.IDs, c.err)
	}

	slices.SortFunc(c.spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	layout := snowflake.Default()
	var before span
	for _, s := range c.spans {
		if s.first <= before.last {
			t.Fatalf("ID %d (%v) came twice: from process %d and process %d",
				s.first, layout.Decompose(s.first), before.by, s.by)
		}
		before = s
		last := layout.Decompose(s.last)
		tick := int64(last.Time.Sub(layout.Epoch()) / layout.Tick())
		if horizon := horizons[last.Worker]; tick >= horizon {
			t.Fatalf("process %d: ID %d (%v) has tick %d, the store's horizon is %d", s.by, s.last, last, tick, horizon)
		}
	}

	t.Logf("%d IDs under %d epochs, %d takeovers", c.IDs, len(c.reigns), c.Takeovers)
}
