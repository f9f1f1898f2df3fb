package lease

import (
	"context"
	"fmt"
	"time"
)

// systemClock is the clock of a lease unless WithClock sets another. Generators
// have their own.
type systemClock struct{}

var origin = time.Now()

func (systemClock) Now() time.Time         { return time.Now() }
func (systemClock) Elapsed() time.Duration { return time.Since(origin) }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// observe notes the store's clock, which was read at some instant since before.
func (l *Lease) observe(now, before time.Time) {
	if now.IsZero() {
		return
	}
	l.skew = l.cfg.clock.Now().Round(0).Sub(now)
	if early := before.Round(0).Sub(now); early.Abs() < l.skew.Abs() {
		l.skew = early // whichever end of the call is kinder to the clock
	}
	seen := storeTime{now: now, at: l.cfg.clock.Elapsed()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = seen
}

// checkClocks refuses to start beside a clock that is off, and on a worker whose
// horizon the clock will not reach in a long time.
func (l *Lease) checkClocks(grant Grant, tick int64) error {
	if l.running() {
		return nil // its own clock, which has only gone forward, stays the generator's
	}
	if l.skew.Abs() > l.cfg.maxSkew {
		return fmt.Errorf("%w by %v, more than %v", ErrClockSkew, l.skew, l.cfg.maxSkew)
	}
	// The owner before may have had the greatest skew in the other direction.
	limit := l.cfg.window + 2*l.cfg.maxSkew + time.Duration(l.lessee.Lead())*l.layout.Tick()
	if ahead := grant.Horizon - tick; ahead > ticks(limit, l.layout) {
		return fmt.Errorf("%w of worker %d by %v, more than %v", ErrBehindHorizon, grant.Worker,
			time.Duration(ahead)*l.layout.Tick(), limit)
	}
	return nil
}

// running reports whether the lease has had a worker.
func (l *Lease) running() bool { return l.status.Epoch > 0 }

// trusts reports whether the store's clock confirms what the wall clock shows
// after a step forward.
func (l *Lease) trusts(wall time.Time) bool {
	l.mu.Lock()
	seen := l.seen
	l.mu.Unlock()
	if seen.now.IsZero() {
		return true // no second clock
	}
	return wall.Sub(seen.now.Add(l.cfg.clock.Elapsed()-seen.at)) <= l.cfg.maxSkew
}

// note updates the status.
func (l *Lease) note(err error) {
	now := l.cfg.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.status
	s.Held, s.Skew = l.held, l.skew
	if err != nil {
		s.Failures++
		l.lastErr = err
		return
	}
	s.Worker, s.Epoch, s.Horizon = l.claim.Worker, l.claim.Epoch, l.horizonTime()
	s.Extended, s.Failures = now, 0
}

func (l *Lease) horizonTime() time.Time {
	if l.horizon <= 0 {
		return time.Time{}
	}
	return l.layout.Start(l.horizon)
}
