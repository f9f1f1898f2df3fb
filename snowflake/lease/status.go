package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Status is the state of a lease.
type Status struct {
	Namespace string
	Table     string // of the leases in an SQL store, with its schema if that is known; empty for other stores
	Worker    int64  // the last one if none is held
	Epoch     int64
	Held      bool          // false between a loss and the next worker
	Horizon   time.Time     // up to which IDs of the worker may be issued, if it is held
	Window    time.Duration // how far ahead extensions put the horizon: WithWindow, or what the namespace allows now
	Extended  time.Time     // when the store answered last
	Failures  int           // in a row, since then
	Skew      time.Duration // of the wall clock against the store's; 0 if the store has no clock

	// Left is the time until the horizon by the generator's clock, in whole ticks. Negative: calls for IDs have to
	// wait. It is 0 if no worker is held.
	Left time.Duration

	Acquisitions uint64 // workers acquired
	Takeovers    uint64 // of them, workers that had another owner before: with an epoch above 1
	Losses       uint64 // workers lost
}

// shared is what other goroutines than the lease's own read.
type shared struct {
	Status
	from, horizon int64     // the ticks that the generator may use; none without a worker
	resumes       int64     // the tick of its next ID when its clock was set back
	ended         error     // why the generator gets no more ticks: ErrClosed, or what has ended the lease
	last          error     // of the store; nil before the first one, old if Failures is 0
	storeStart    time.Time // what the store's clock showed when the lease's monotonic clock was at 0
}

// snapshot returns a copy of the shared state.
func (l *Lease) snapshot() shared {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shared
}

// change changes the shared state.
func (l *Lease) change(f func(s *shared)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.shared)
}

// Status returns the state of the lease. Like Ready and Healthy it calls no store and costs a lock.
func (l *Lease) Status() Status {
	s := l.snapshot().Status
	if !s.Held {
		return s
	}

	// An error says that the clock is outside the layout's time. No IDs are left then either.
	if tick, err := l.lessee.Tick(); err == nil {
		s.Left = s.Horizon.Sub(l.layout.Start(tick))
	}
	return s
}

// Ready returns nil if the generator can issue an ID now, and otherwise the reason why not. It is for readiness and
// startup probes, and no liveness probe: see Healthy. An overload, in which calls wait for their turn, is no error.
//
// During an outage of the store it returns nil until the horizon is reached: for half of the window to a whole one.
//
// Errors: ErrClosed after Close; snowflake.ErrLeaseStalled if the horizon is reached, as after the machine slept, or no
// worker is held, with the store's last error, such as ErrLost or a *NoWorkerError, if its last call failed;
// ErrBehindHorizon while the first ID of the worker is not due, after a takeover at most a window, after a failover
// until the floor; ErrClockSkew until the clock has caught up with what was issued before it was set back by more than
// the lease can wait for; snowflake.ErrBeforeEpoch and ErrTimeExhausted if the clock is outside the layout's time; and
// the error of Healthy. When the layout ends in less than two years, texts about the store and the horizon say so. A
// nil does not: before the end show Remaining of the generator's Stats. The texts can contain addresses of the store:
// log them, don't send them to strangers.
func (l *Lease) Ready() error {
	tick, err := l.lessee.Tick()
	s := l.snapshot()

	switch {
	case s.ended != nil:
		return s.ended
	case err != nil:
		return err
	case tick >= s.horizon:
		err = fmt.Errorf("%w: no worker of namespace %q is held", snowflake.ErrLeaseStalled, s.Namespace)
		if s.Held {
			err = fmt.Errorf("%w: worker %d of namespace %q", snowflake.ErrLeaseStalled, s.Worker, s.Namespace)
		}
		if s.Failures > 0 {
			err = fmt.Errorf("%w: %w", err, s.last)
		}
		return l.warnEnding(err)
	case tick+l.lessee.Lead() < s.from:
		return l.warnEnding(fmt.Errorf("%w of worker %d: the first ID is due in about %v", ErrBehindHorizon, s.Worker,
			l.layout.Start(s.from-l.lessee.Lead()).Sub(l.layout.Start(tick))))
	case tick+l.lessee.Lead() < s.resumes:
		return fmt.Errorf("%w: it was set back, and the next ID is due in about %v", ErrClockSkew,
			time.Duration(s.resumes-l.lessee.Lead()-tick)*l.layout.Tick())
	}
	return nil
}

// Healthy returns nil unless the lease has ended by itself, for good, so that only a new Open helps. It is for liveness
// probes, which restart the process. The error is ErrLost with WithStopOnLoss after a loss, and os.ErrClosed if the
// store was closed before the lease.
//
// It returns nil while the store does not answer, all workers are held, or the clock is wrong: a restart would not
// help, and would lose the rest of the horizon, with which the process still issues IDs. It also returns nil after
// Close.
func (l *Lease) Healthy() error {
	if ended := l.snapshot().ended; !errors.Is(ended, ErrClosed) {
		return ended
	}
	return nil
}

// end records why the generator gets no more ticks. Close has the last word.
func (l *Lease) end(err error) {
	l.change(func(s *shared) {
		if s.ended == nil || errors.Is(err, ErrClosed) {
			s.ended = err
		}
	})
}

// record updates the status after an answer of the store, or after an error.
func (l *Lease) record(err error) {
	l.lessee.Explain(err)

	now, window := l.cfg.clock.Now(), l.window()
	l.change(func(s *shared) {
		s.Held, s.Skew, s.Window = l.state.held, l.state.skew, window
		s.from, s.horizon, s.resumes = 0, 0, l.state.resumes
		if l.state.held {
			s.from, s.horizon = l.state.from, l.state.horizon
		}
		if err != nil {
			s.Failures++
			s.last = err
			return
		}
		s.Worker, s.Epoch, s.Horizon = l.state.claim.Worker, l.state.claim.Epoch, l.horizonTime()
		s.Table, s.Extended, s.Failures = l.state.table, now, 0
	})
}

func (l *Lease) horizonTime() time.Time {
	if l.state.horizon <= 0 {
		return time.Time{}
	}
	return l.layout.Start(l.state.horizon)
}

// EndWarning is how long before the end of a layout warnings begin: two years, as with the alert SnowflakeLayoutEnds.
// The next layout needs new code in each process, and perhaps other keys in each table.
const EndWarning = 2 * 365 * 24 * time.Hour

// warnEnding adds to err, which may be nil, that the layout ends soon. After the end ErrTimeExhausted says so.
func (l *Lease) warnEnding(err error) error {
	left := l.gen.Stats().Remaining
	if left <= 0 || left >= EndWarning {
		return err
	}
	end := l.layout.Epoch().Add(l.layout.End().Sub(l.layout.Epoch())) // at most 292 years after the epoch
	ends := fmt.Errorf("the layout %q ends at %s, in %d days", l.layout, end.Format(time.RFC3339), left/(24*time.Hour))
	if err == nil {
		return ends
	}
	return fmt.Errorf("%w; %w", err, ends)
}
