package processtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

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
	o := Order{Place: place, First: 0, Last: count - 1, Window: Patience, Gate: true, Limit: 2000}
	processes := make([]*Process, count)
	for i := range processes {
		processes[i] = MustStart(t, o)
	}

	for _, p := range processes {
		Eventually(t, "a process at the gate", func() bool { return len(p.Noted(Ready)) > 0 }, p)
	}

	for _, p := range processes {
		if err := p.Go(); err != nil {
			t.Fatal(err)
		}
	}

	workers := map[int64]bool{}
	for _, p := range processes {
		Eventually(t, "a worker and all IDs", func() bool {
			hasAll := p.Count() == o.Limit && len(p.Noted(lease.Acquired)) > 0
			return hasAll || p.HasEnded()
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

	c := TakeCensus(processes)
	c.Check(t, open())
	if c.IDs != count*o.Limit {
		t.Errorf("%d IDs, want %d", c.IDs, count*o.Limit)
	}
}
