package main

import (
	"context"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

var (
	epoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) // of all layouts
	begin = epoch.AddDate(1, 0, 0)
)

// world has the true time and what its hosts share: a queue of workers, a count of starts, a database.
type world struct {
	ctx    context.Context
	dir    string // of the hosts' files
	queue  []int64
	starts int64
	db     lease.Store

	mu       sync.Mutex
	changed  *sync.Cond
	elapsed  time.Duration                   // since begin
	leases   int                             // each has a goroutine
	sleepers map[chan struct{}]time.Duration // the goroutines that sleep, and until when
}

func newWorld(ctx context.Context, dir string) *world {
	w := &world{ctx: ctx, dir: dir, queue: []int64{0, 1}, sleepers: map[chan struct{}]time.Duration{}}
	w.changed = sync.NewCond(&w.mu)
	w.db = leasetest.NewMemory(w.host(0).Now)
	return w
}

// open changes the number of leases.
func (w *world) open(change int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leases += change
	w.changed.Broadcast()
	w.settle()
}

// pass lets time pass. It returns when the leases have done what is due.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.elapsed += d
	for wake, until := range w.sleepers {
		if until <= w.elapsed {
			delete(w.sleepers, wake)
			close(wake)
		}
	}
	w.settle()
}

// settle waits until all leases sleep.
func (w *world) settle() {
	for len(w.sleepers) < w.leases {
		w.changed.Wait()
	}
}

// host is a machine. It is the clock of its generators, whose sleeps let time pass.
type host struct {
	*world
	number int64
	file   int64         // what an article's generator keeps in a file; -1: nothing yet
	offset time.Duration // of the wall clock from the true time
}

func (w *world) host(number int64) *host { return &host{world: w, number: number, file: -1} }

func (h *host) Now() time.Time { return begin.Add(h.Elapsed() + h.offset) }

func (h *host) Elapsed() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.elapsed
}

func (h *host) Sleep(ctx context.Context, d time.Duration) error {
	h.pass(d)
	return ctx.Err()
}

// background is the clock of a lease's goroutine, which sleeps until others have let the time pass.
type background struct{ *host }

func (b background) Sleep(ctx context.Context, d time.Duration) error {
	wake := make(chan struct{})
	b.mu.Lock()
	b.sleepers[wake] = b.elapsed + d
	b.changed.Broadcast()
	b.mu.Unlock()
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sleepers, wake)
	return ctx.Err()
}
