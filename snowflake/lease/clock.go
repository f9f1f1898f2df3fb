package lease

import (
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// moment is a time by the lease's clock.
type moment struct {
	wall    time.Time
	elapsed time.Duration
}

func (l *Lease) moment() moment { return moment{l.cfg.clock.Now().Round(0), l.cfg.clock.Elapsed()} }

// deadline is a time by the clocks of an owner.
type deadline struct {
	moment
	clock snowflake.Clock
}

// IsAhead reports whether neither clock has reached the deadline: the monotonic clock may stand still while the machine
// sleeps, and the wall clock may be set back.
func (d *deadline) IsAhead() bool {
	return d.clock.Now().Round(0).Before(d.wall) && d.clock.Elapsed() < d.elapsed
}

// deadline returns the time before which the claim can't have expired, as seen at the moment at.
func (l *Lease) deadline(at moment) *deadline {
	left := l.remaining(at)
	return &deadline{moment{at.wall.Add(left), at.elapsed + left}, l.cfg.clock}
}

// remaining returns for how long after the moment the claim can't have expired. The monotonic clock may stand still
// while a machine sleeps, so both clocks count. Both may stand still while a virtual machine is paused, and then agree
// with others within the accepted skew, which is left out. An eighth is left for server clocks that run faster. It is
// never more than the reach: for that long a store that has forgotten owners lends none of their workers.
func (l *Lease) remaining(at moment) time.Duration {
	age := max(at.elapsed-l.state.confirmedAt.elapsed, at.wall.Sub(l.state.confirmedAt.wall))
	return max(0, min(l.cfg.ttl, l.reach())/8*7-age-l.cfg.maxSkew)
}

// observe records the store's time, which was read at some instant since before.
func (l *Lease) observe(now, before time.Time) {
	if now.IsZero() {
		return
	}

	l.state.skew = l.cfg.clock.Now().Round(0).Sub(now)
	if early := before.Round(0).Sub(now); early.Abs() < l.state.skew.Abs() {
		l.state.skew = early // the store's clock was read in between: take the smaller difference
	}

	start := now.Add(-l.cfg.clock.Elapsed())
	l.change(func(s *shared) { s.storeStart = start })
}

// checkClocks rejects a clock that differs from the store's, and a horizon or floor that the clock will not reach for a
// long time. tick is what the generator's clock showed before the acquisition, gap its clockGap.
func (l *Lease) checkClocks(grant leasestore.Grant, floor, tick int64, gap time.Duration) error {
	if !l.hadWorker() { // a generator that has started keeps its clock, which only slows down
		// The skew is 0 if the store has no clock: the lease's clock is used then.
		if skew := l.state.skew + gap; skew.Abs() > l.cfg.maxSkew {
			return fmt.Errorf("%w by %v, more than %v", ErrClockSkew, skew, l.cfg.maxSkew)
		}

		// The owner before may have had the greatest skew in the other direction.
		limit := l.cfg.window + 2*l.cfg.maxSkew + time.Duration(l.lessee.Lead())*l.layout.Tick()
		if ahead := grant.Horizon - tick; ahead > ticks(limit, l.layout) {
			return fmt.Errorf("%w of worker %d by %v, more than %v", ErrBehindHorizon, grant.Worker,
				time.Duration(ahead)*l.layout.Tick(), limit)
		}
	}

	// A floor further ahead than any reach and skew means that the server's clock was wrong when it was promoted.
	limit := 2*MaxWindow + snowflake.MaxLead + DefaultMaxSkew + 2*l.cfg.maxSkew + 2*l.layout.Tick()
	if ahead := floor - tick; ahead > ticks(limit, l.layout) {
		return fmt.Errorf("%w: the floor after a failover of the store is %v, ahead by %v, more than %v",
			ErrBehindHorizon, grant.Floor.UTC().Format(time.RFC3339), time.Duration(ahead)*l.layout.Tick(), limit)
	}

	return nil
}

// reach returns how far ahead of the store's clock a horizon of this lease is at most. WithMaxSkew may accept a clock
// that is further ahead than the default skew, but then no floor waits for it.
func (l *Lease) reach() time.Duration { return l.reachOf(l.window()) }

func (l *Lease) reachOf(window time.Duration) time.Duration {
	ticks := l.ahead(window) + 1 // the store's clock may be anywhere in its tick
	return time.Duration(ticks)*l.layout.Tick() + min(l.cfg.maxSkew, DefaultMaxSkew)
}

// reducedWindow is a window that a namespace allows until it knows the lease's own for long enough.
type reducedWindow struct {
	length time.Duration // 0: none
	until  time.Duration // by the monotonic clock
}

// window returns how far ahead of the clock the next horizon may be.
func (l *Lease) window() time.Duration {
	if l.state.reduced.length > 0 && l.cfg.clock.Elapsed() < l.state.reduced.until {
		return l.state.reduced.length
	}
	return l.cfg.window
}

// shorten makes the window as short as the store demands, and reports whether it can be so short.
func (l *Lease) shorten(e *ReachError) bool {
	n := int64((e.Limit-min(l.cfg.maxSkew, DefaultMaxSkew))/l.layout.Tick()) - l.lessee.Lead() - 1 // ticks, see reachOf
	length := time.Duration(n) * l.layout.Tick()
	if n < 1 || length < minWindow {
		return false
	}

	if l.state.reduced.length != length {
		l.reportKind(Failed, fmt.Errorf("%w: until then the window is %v", e, length))
	}
	l.state.reduced = reducedWindow{length, l.cfg.clock.Elapsed() + e.Wait}
	return true
}

// tickAt returns the tick of a time, which is negative before the epoch.
func (l *Lease) tickAt(t time.Time) int64 { return int64(t.Sub(l.layout.Epoch()) / l.layout.Tick()) }

// agreed returns the tick, or the later one of the wall clock and the store's clock, if the generator is ahead of
// both. After a step back of the wall clock it is, for long. A failover sets too low a floor for horizons that follow
// it there, so it does not count on a store that may forget.
func (l *Lease) agreed(tick int64) int64 {
	start := l.snapshot().storeStart
	if !l.state.forgets || start.IsZero() {
		return tick
	}

	store := start.Add(l.cfg.clock.Elapsed())
	least, most := l.tickAt(store), l.tickAt(store.Add(l.cfg.maxSkew))
	return min(tick, max(least, min(l.tickAt(l.lessee.Wall()), most)))
}

// clockGap returns by how much the generator's clock, which shows the tick, is at least ahead of the lease's: 0 unless
// WithGenerator replaces the clock, or the wall clock has stepped since the generator was made.
func (l *Lease) clockGap(tick int64) time.Duration {
	from := l.layout.Start(tick).Sub(l.cfg.clock.Now().Round(0))
	to := from + l.layout.Tick()
	return max(from, 0) + min(to, 0)
}

// trusts reports whether the store's clock confirms what the wall clock shows after a step forward.
func (l *Lease) trusts(wall time.Time) bool {
	start := l.snapshot().storeStart
	return start.IsZero() || wall.Sub(start.Add(l.cfg.clock.Elapsed())) <= l.cfg.maxSkew // zero: the store has no clock
}

// ticks returns how many ticks d, 0 or more, has, rounded up.
func ticks(d time.Duration, l snowflake.Layout) int64 {
	return int64((d + l.Tick() - 1) / l.Tick())
}
