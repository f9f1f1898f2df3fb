package core

import (
	"runtime"
	"time"
)

// Stats is snowflake.Stats.
type Stats struct {
	Issued    uint64
	Waits     uint64
	Waited    time.Duration
	Lead      time.Duration
	Drift     time.Duration
	Steps     uint64
	Remaining time.Duration
}

// Stats is snowflake.Generator.Stats.
func (g *Generator) Stats() Stats {
	if g.Lessee == nil {
		return Stats{}
	}
	w, last, issued := g.Lessee.count()
	s := Stats{
		Issued: issued,
		Waits:  w.waits.Load(),
		Waited: time.Duration(w.waited.Load()),
		Drift:  time.Duration(w.drift.Load()),
		Steps:  w.steps.Load(),
	}
	now := w.now()
	if int64(now) < 0 || now >= w.end {
		return s
	}
	if tick, clock := w.tickOf(last), w.tick(now); tick > clock && last != frozen {
		s.Lead = w.span(tick - clock)
	}
	s.Remaining = time.Duration(w.end - now)
	return s
}

// count returns the current worker, its state, and how many IDs were issued. A call moves the state before it counts
// what it skipped, so count retries until both belong together.
func (l *Lessee) count() (w *worker, last state, issued uint64) {
	for try := range 1000 {
		switch { // a call that was preempted in between needs a processor, or its thread does
		case try > 200:
			time.Sleep(time.Millisecond)
		case try > 0:
			runtime.Gosched()
		}
		w = l.current.Load()
		unused := w.skipped.Load() + w.abandoned.Load()
		retired := w.retired.Load()
		if last = w.state.Load(); last == frozen { // perhaps not counted yet
			l.mu.Lock()
			w = l.current.Load()
			last, retired = w.state.Load(), w.retired.Load()
			l.mu.Unlock()
		}
		taken := retired
		if last != frozen {
			taken += uint64(last - w.start)
		}
		issued = taken - min(taken, unused)
		if w.skipping.Load() == 0 && unused == w.skipped.Load()+w.abandoned.Load() && last == w.state.Load() &&
			retired == w.retired.Load() && w == l.current.Load() {
			break
		}
	}
	return w, last, issued
}

// Wait is snowflake.Wait.
type Wait struct {
	Lease bool
	Took  time.Duration
	Err   error
}

// Observe adds an observer of the current worker and those of the same lease. The zero Generator has no waits.
func (g *Generator) Observe(observe func(Wait)) (stop func()) {
	if g.Lessee == nil {
		return func() {}
	}
	set := &g.Lessee.current.Load().observers
	set.Store(&observe, nil)
	return func() { set.Delete(&observe) }
}

// observe tells the observers about a wait. No lock is held while they run.
func (w *worker) observe(wait Wait) {
	w.observers.Range(func(observe, _ any) bool {
		(*observe.(*func(Wait)))(wait)
		return true
	})
}
