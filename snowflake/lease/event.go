package lease

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	Acquired EventKind = "acquired" // a worker was taken, at the start or after a loss
	Extended EventKind = "extended" // the horizon has risen
	Failed   EventKind = "failed"   // a call of the store has failed and is repeated; until then the horizon stays
	Lost     EventKind = "lost"     // another owner, or a copy of this process, has the worker, or the store forgot it
	Released EventKind = "released" // the worker was given back
	Stepped  EventKind = "stepped"  // the wall clock differs from the generator's clock, by Skew
	Called   EventKind = "called"   // a call of the store has returned, after Took; not logged
)

// Event is something that happened to a lease.
type Event struct {
	Kind      EventKind
	Time      time.Time // by the wall clock
	Namespace string
	Worker    int64         // -1 while the lease has no worker: before the first one, and after a loss
	Epoch     int64         // 0 while the lease has no worker
	Horizon   time.Time     // up to which IDs of the worker may be issued; zero before the first horizon
	Skew      time.Duration // of the wall clock against the store's; for Stepped, against the generator's

	// Err is the error of Failed and Lost; of Called, if the call failed; of Stepped, while no ID is due because of the
	// step. Of Acquired it is a warning: of the store, or that the layout ends.
	Err error

	Call string        // of Called: "acquire", "extend" or "release"
	Took time.Duration // of Called: its length by the monotonic clock
}

// Observe calls f for each event from now on, as WithObserver does from the beginning. stop ends that; an event that is
// being reported may still come. It may be called several times. A nil f is never called.
func (l *Lease) Observe(f func(Event)) (stop func()) {
	if f == nil {
		return func() {}
	}

	added := &f // functions are not comparable
	l.change(func(*shared) { l.observers = append(slices.Clip(l.observers), added) })
	return func() {
		l.change(func(*shared) {
			l.observers = slices.DeleteFunc(slices.Clone(l.observers), func(o *func(Event)) bool { return o == added })
		})
	}
}

// called reports a call of the store that began at start.
func (l *Lease) called(call string, start time.Duration, err error) {
	l.report(Event{Kind: Called, Err: err, Skew: l.state.skew, Call: call, Took: l.cfg.clock.Elapsed() - start})
}

func (l *Lease) reportKind(kind EventKind, err error) {
	l.report(Event{Kind: kind, Err: err, Skew: l.state.skew})
}

// report completes an event, counts it, and calls the observers.
func (l *Lease) report(e Event) {
	e.Time, e.Namespace, e.Worker, e.Horizon = l.cfg.clock.Now(), l.cfg.namespace, -1, l.horizonTime()
	if claim := l.state.claim; claim.Epoch > 0 {
		e.Worker, e.Epoch = claim.Worker, claim.Epoch
	}

	var observers []*func(Event)
	l.change(func(s *shared) {
		observers = l.observers
		switch e.Kind {
		case Acquired:
			s.Acquisitions++
			if e.Epoch > 1 {
				s.Takeovers++
			}
		case Lost:
			s.Losses++
		}
	})

	for _, o := range observers {
		(*o)(e)
	}
}

// log is the first observer. Attributes without a value are left out.
func (l *Lease) log(e Event) {
	level := slog.LevelInfo
	switch {
	case e.Kind == Called:
		return
	case e.Kind == Extended:
		level = slog.LevelDebug
	case e.Kind == Stepped || e.Err != nil:
		level = slog.LevelWarn
	}

	attrs := []slog.Attr{slog.String("namespace", e.Namespace)}
	add := func(has bool, more ...slog.Attr) {
		if has {
			attrs = append(attrs, more...)
		}
	}

	add(e.Worker >= 0, slog.Int64("worker", e.Worker), slog.Int64("epoch", e.Epoch))
	add(!e.Horizon.IsZero(), slog.Time("horizon", e.Horizon))
	wait := l.layout.Start(l.state.from).Sub(e.Time) // until the first ID is due, about
	add(e.Kind == Acquired && wait > 0, slog.Duration("wait", wait))
	add(e.Kind == Acquired, slog.String("layout_end", l.layout.End().Format(time.DateOnly)))
	add(e.Kind == Acquired && l.state.table != "", slog.String("table", l.state.table))
	add(e.Skew != 0, slog.Duration("skew", e.Skew))
	add(e.Err != nil, slog.Any("error", e.Err))

	l.cfg.log.LogAttrs(context.Background(), level, "snowflake lease "+string(e.Kind), attrs...)
}
