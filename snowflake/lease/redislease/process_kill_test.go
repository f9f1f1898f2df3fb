package redislease_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// TestKilledProcessesNeverRepeatAnID kills issuers at random instants, while they
// start or while they issue, and starts the next one at once. There are few
// workers, so each one is taken over again and again.
func TestKilledProcessesNeverRepeatAnID(t *testing.T) {
	t.Parallel()
	const side = 2 // so many at a time
	kills := scale(15, 200)
	addr, prefix := testdb.Redis(t)
	o := order{Addr: addr, Prefix: prefix, First: 0, Last: 3, Window: 200 * time.Millisecond}
	var (
		mu        sync.Mutex
		processes []*process
		wait      sync.WaitGroup
		left      = make(chan struct{}, kills)
	)
	for range kills {
		left <- struct{}{}
	}
	close(left)
	for range side {
		wait.Go(func() {
			for more := true; more; {
				p, err := start(t, o)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				processes = append(processes, p)
				mu.Unlock()
				end := lastOne
				if _, more = <-left; more {
					end = killAtRandom
				}
				if err := end(p); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	c := takeCensus(processes)
	c.check(t, addr, prefix)
	if c.takeovers == 0 {
		t.Error("no worker was ever taken over")
	}
	t.Logf("%d kills", kills)
}

// killAtRandom kills one in five while it starts, the others after the first ID.
func killAtRandom(p *process) error {
	if rand.N(5) == 0 {
		time.Sleep(rand.N(60 * time.Millisecond))
	} else {
		if err := firstID(p); err != nil {
			return err
		}
		time.Sleep(rand.N(250 * time.Millisecond))
	}
	if p.hasEnded() {
		return fmt.Errorf("ended by itself: %s", p)
	}
	return p.kill()
}

func lastOne(p *process) error {
	if err := firstID(p); err != nil {
		return errors.Join(err, p.kill())
	}
	return p.finish()
}

func firstID(p *process) error {
	for begin := time.Now(); p.count() == 0; time.Sleep(time.Millisecond) {
		if p.hasEnded() || time.Since(begin) > patience {
			return fmt.Errorf("no ID: %s", p)
		}
	}
	return nil
}

// TestProcessesThatStartAtOnceHaveDifferentWorkers starts 32 at the same instant.
func TestProcessesThatStartAtOnceHaveDifferentWorkers(t *testing.T) {
	const count = 32
	addr, prefix := testdb.Redis(t)
	o := order{Addr: addr, Prefix: prefix, First: 0, Last: count - 1, Window: 5 * time.Second, Gate: true, Limit: 2000}
	processes := make([]*process, count)
	for i := range processes {
		processes[i] = mustStart(t, o)
	}
	for _, p := range processes {
		eventually(t, "a process at the gate", func() bool { return len(p.noted(noteReady)) > 0 }, p)
	}
	for _, p := range processes {
		if _, err := p.stdin.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	workers := map[int64]bool{}
	for _, p := range processes {
		eventually(t, "a worker and all IDs", func() bool {
			return p.count() == o.Limit && len(p.noted(lease.Acquired)) > 0 || p.hasEnded()
		}, p)
		for _, n := range p.noted(lease.Acquired) {
			workers[n.Worker] = true
		}
	}
	// They live and hold their workers until now.
	if len(workers) != count {
		t.Errorf("%d processes have %d workers", count, len(workers))
	}
	for _, p := range processes {
		if err := p.finish(); err != nil {
			t.Error(err)
		}
	}
	c := takeCensus(processes)
	c.check(t, addr, prefix)
	if c.ids != count*o.Limit {
		t.Errorf("%d IDs, want %d", c.ids, count*o.Limit)
	}
}
