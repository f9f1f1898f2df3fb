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
	Failed   EventKind = "failed"   // the store could not be asked; the horizon stays as it was, and it is tried again
	Lost     EventKind = "lost"     // another owner has taken the worker over
	Released EventKind = "released" // the worker was given back
	Stepped  EventKind = "stepped"  // the wall clock was found away from the generator's, by Skew
)

// Event is something that happened to a lease.
type Event struct {
	Kind      EventKind
	Time      time.Time // by the wall clock
	Namespace string
	Worker    int64
	Epoch     int64
	Horizon   time.Time     // up to which IDs may be issued
	Skew      time.Duration // of the wall clock against the store's, or for Stepped against the generator's
	Err       error         // of Failed and Lost
}

func (l *Lease) tell(kind EventKind, err error) {
	e := Event{
		Kind: kind, Time: l.cfg.clock.Now(), Namespace: l.cfg.namespace,
		Worker: l.claim.Worker, Epoch: l.claim.Epoch, Horizon: l.horizonTime(), Skew: l.skew, Err: err,
	}
	level := slog.LevelInfo
	switch kind {
	case Extended:
		level = slog.LevelDebug
	case Failed, Lost, Stepped:
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("namespace", e.Namespace), slog.Int64("worker", e.Worker),
		slog.Int64("epoch", e.Epoch), slog.Time("horizon", e.Horizon),
	}
	if e.Skew != 0 {
		attrs = append(attrs, slog.Duration("skew", e.Skew))
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	l.cfg.log.LogAttrs(context.Background(), level, "snowflake lease "+string(kind), attrs...)
	if l.cfg.hook != nil {
		l.cfg.hook(e)
	}
}
