package lease

import (
	"context"
	"log/slog"
	"time"
)

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	Acquired EventKind = "acquired" // a worker was taken, at the start or after a loss
	Extended EventKind = "extended" // the horizon has risen
	Failed   EventKind = "failed"   // a call of the store has failed and will be repeated; until then the horizon stays as it is
	Lost     EventKind = "lost"     // another owner, or a copy of this process, has taken the worker over, or the store has forgotten it
	Released EventKind = "released" // the worker was given back
	Stepped  EventKind = "stepped"  // the wall clock differs from the generator's clock, by Skew
)

// Event is something that happened to a lease.
type Event struct {
	Kind      EventKind
	Time      time.Time // by the wall clock
	Namespace string
	Worker    int64         // -1 as long as the lease has no worker: before the first one, and after a loss
	Epoch     int64         // 0 as long as the lease has no worker
	Horizon   time.Time     // up to which IDs of the worker may be issued; zero before the first horizon
	Skew      time.Duration // of the wall clock against the store's; for Stepped, against the generator's
	Err       error         // of Failed and Lost; of Acquired the Grant's Warning, if there is one
}

// Status is the state of a lease.
type Status struct {
	Namespace string
	Worker    int64 // the last one if none is held
	Epoch     int64
	Held      bool          // false between a loss and the next worker
	Horizon   time.Time     // up to which IDs of the worker may be issued, if it is held
	Extended  time.Time     // when the store has last answered
	Failures  int           // in a row, since then
	Skew      time.Duration // of the wall clock against the store's; 0 if the store has no clock of its own

	// Left is how long until the horizon by the generator's clock, in whole ticks. Negative: calls for IDs have to wait.
	// It is 0 if no worker is held.
	Left time.Duration

	Acquisitions uint64 // workers acquired
	Takeovers    uint64 // those of them that another owner has had before: with an epoch above 1
	Losses       uint64 // workers lost
}

// tell reports an event to the logger and to the hook.
func (l *Lease) tell(kind EventKind, err error) { l.report(l.event(kind, err)) }

func (l *Lease) event(kind EventKind, err error) Event {
	e := Event{
		Kind: kind, Time: l.cfg.clock.Now(), Namespace: l.cfg.namespace,
		Worker: -1, Horizon: l.horizonTime(), Skew: l.state.skew, Err: err,
	}
	if l.state.claim.Epoch > 0 {
		e.Worker, e.Epoch = l.state.claim.Worker, l.state.claim.Epoch
	}
	return e
}

func (l *Lease) report(e Event) {
	level := slog.LevelInfo
	switch {
	case e.Kind == Extended:
		level = slog.LevelDebug
	case e.Kind == Stepped || e.Err != nil:
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("namespace", e.Namespace)}
	if e.Worker >= 0 {
		attrs = append(attrs, slog.Int64("worker", e.Worker), slog.Int64("epoch", e.Epoch))
	}
	if !e.Horizon.IsZero() {
		attrs = append(attrs, slog.Time("horizon", e.Horizon))
	}
	if wait := l.layout.Start(l.state.from).Sub(e.Time); e.Kind == Acquired && wait > 0 {
		attrs = append(attrs, slog.Duration("wait", wait)) // until the first ID is due, about
	}
	if e.Skew != 0 {
		attrs = append(attrs, slog.Duration("skew", e.Skew))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	l.count(e)
	l.cfg.log.LogAttrs(context.Background(), level, "snowflake lease "+string(e.Kind), attrs...)
	l.cfg.hook(e)
}

func (l *Lease) count(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case Acquired:
		l.status.Acquisitions++
		if e.Epoch > 1 {
			l.status.Takeovers++
		}
	case Lost:
		l.status.Losses++
	}
}

// Status returns the state of the lease.
func (l *Lease) Status() Status {
	l.mu.Lock()
	s := l.status
	l.mu.Unlock()
	if !s.Held {
		return s
	}
	// An error says that the clock is outside of the layout's time. Its IDs are over then, too.
	if tick, err := l.lessee.Tick(); err == nil {
		s.Left = s.Horizon.Sub(l.layout.Start(tick))
	}
	return s
}

// note updates the status after an answer of the store, or after an error.
func (l *Lease) note(err error) {
	now := l.cfg.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.status
	s.Held, s.Skew = l.state.held, l.state.skew
	l.health.from, l.health.horizon = 0, 0
	if l.state.held {
		l.health.from, l.health.horizon = l.state.from, l.state.horizon
	}
	if err != nil {
		s.Failures++
		l.lastErr = err
		return
	}
	s.Worker, s.Epoch, s.Horizon = l.state.claim.Worker, l.state.claim.Epoch, l.horizonTime()
	s.Extended, s.Failures = now, 0
}

func (l *Lease) horizonTime() time.Time {
	if l.state.horizon <= 0 {
		return time.Time{}
	}
	return l.layout.Start(l.state.horizon)
}
