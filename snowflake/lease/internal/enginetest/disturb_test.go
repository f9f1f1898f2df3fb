//go:build unix && !race

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/processtest"
)

// disturbance starts issuers, and counts what is done to them.
type disturbance struct {
	t            *testing.T
	order        processtest.Order
	over         atomic.Bool
	kills, stops atomic.Int64

	mu        sync.Mutex
	processes []*processtest.Process
}

// disturb kills issuers with kill -9, stops others past their expiry, and kills the leader, all at the same time.
func disturb(t *testing.T, e engine) {
	p := e.newPlace(t)
	d := &disturbance{t: t, order: processtest.Order{Place: p.String(), First: 0, Last: 7, Window: 500 * time.Millisecond}}
	steady := d.start()
	if err := steady.AwaitID(); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	defer func() {
		d.over.Store(true)
		wait.Wait()
	}()
	for range 2 {
		wait.Go(func() { d.repeat(d.kill) })
	}
	wait.Go(func() { d.repeat(d.stop) })
	changes := processtest.Scale(2, 12)
	for range changes {
		e.killLeader(t, p)
		count, extended := steady.Count(), len(steady.Noted(lease.Extended))
		processtest.Eventually(t, "more IDs and extensions after a change of the leader", func() bool {
			return steady.HasEnded() || steady.Count() > count+100 && len(steady.Noted(lease.Extended)) > extended
		}, steady)
	}
	kills, stops := int64(processtest.Scale(5, 60)), int64(processtest.Scale(2, 25))
	for (d.kills.Load() < kills || d.stops.Load() < stops) && !t.Failed() {
		time.Sleep(10 * time.Millisecond)
	}
	d.over.Store(true)
	wait.Wait()
	if err := steady.Finish(); err != nil {
		t.Error(err)
	}
	c := processtest.TakeCensus(d.processes)
	c.Check(t, p.store(t))
	if n := c.Notes[processtest.Refused]; n > 0 || c.Takeovers == 0 {
		t.Errorf("%d calls failed, %d workers were taken over; want 0, and some", n, c.Takeovers)
	}
	t.Logf("%d kills, %d stops, %d changes of the leader", d.kills.Load(), d.stops.Load(), changes)
}

func (d *disturbance) start() *processtest.Process {
	p, err := processtest.Start(d.t, d.order)
	if err != nil {
		d.t.Error(err)
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.processes = append(d.processes, p)
	return p
}

// repeat starts issuers one after the other and harms each.
func (d *disturbance) repeat(harm func(p *processtest.Process) error) {
	for !d.over.Load() && !d.t.Failed() {
		p := d.start()
		if p == nil {
			return
		}
		if err := harm(p); err != nil {
			d.t.Error(err)
			return
		}
	}
}

// kill kills one in five while it starts, the others while they issue.
func (d *disturbance) kill(p *processtest.Process) error {
	if rand.N(5) > 0 {
		if err := p.AwaitID(); err != nil {
			return err
		}
	}
	time.Sleep(rand.N(200 * time.Millisecond))
	if p.HasEnded() {
		return fmt.Errorf("ended by itself: %s", p)
	}
	d.kills.Add(1)
	return p.Kill()
}

// stop stops the process past its expiry and lets it issue again. It is killed then, since giving its worker back may
// fail while there is no leader.
func (d *disturbance) stop(p *processtest.Process) error {
	if err := p.AwaitID(); err != nil {
		return err
	}
	p.Signal(d.t, syscall.SIGSTOP)
	time.Sleep(3 * d.order.Window)
	count := p.Count()
	p.Signal(d.t, syscall.SIGCONT)
	for begin := time.Now(); p.Count() <= count+100_000; time.Sleep(2 * time.Millisecond) { // more than a pipe holds
		if p.HasEnded() || time.Since(begin) > processtest.Patience {
			return fmt.Errorf("no IDs after a stop: %s", p)
		}
	}
	d.stops.Add(1)
	return p.Kill()
}

// killLeader kills the leader and starts it again when another one leads.
func (e engine) killLeader(t *testing.T, p place) {
	t.Helper()
	var before *member
	for {
		var leader *member
		eventually(t, "a leader", func() (err error) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*callPatience) // for three members
			defer cancel()
			if leader, err = e.leader(ctx, p); leader == before && err == nil {
				return errors.New("it is the same")
			}
			return err
		})
		if before != nil {
			before.start(t)
			return
		}
		before = leader
		before.kill()
	}
}

// loseQuorum stops two of three members: calls fail within their context, and issue nothing. Then it continues one.
func loseQuorum(t *testing.T, e engine) {
	p := e.newPlace(t)
	store := p.store(t)
	claim := acquire(t, store).Claim
	for _, m := range e.cluster[1:] {
		m.signal(t, syscall.SIGSTOP)
	}
	for name, call := range map[string]func(ctx context.Context) error{
		"Acquire": func(ctx context.Context) error { _, err := store.Acquire(ctx, request()); return err },
		"Extend":  func(ctx context.Context) error { _, err := store.Extend(ctx, claim, 99, time.Hour); return err },
		"Release": func(ctx context.Context) error { return store.Release(ctx, claim, 0) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		begin := time.Now()
		err := call(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v, want context.DeadlineExceeded", name, err)
		}
		t.Logf("%s after %v: %v", name, time.Since(begin).Round(time.Millisecond), err)
	}
	e.cluster[1].signal(t, syscall.SIGCONT)
	eventually(t, "an extension by a majority", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), callPatience)
		defer cancel()
		_, err := store.Extend(ctx, claim, 99, time.Hour)
		return err
	})
	e.cluster[2].signal(t, syscall.SIGCONT)
}
