package lease

import (
	"errors"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

// health is what Ready and Healthy look at.
type health struct {
	from, horizon int64 // the ticks that the generator may use; none without a worker
	ended         error // why the generator gets no more ticks: ErrClosed, or what has ended the lease
}

// Ready returns nil if the generator can issue an ID now, and otherwise an error that says why not. It is for readiness
// and startup probes. It asks neither the store nor the generator for anything, so it returns at once and costs a lock.
//
// During an outage of the store it returns nil until the horizon is reached: half of the window to a whole one. All
// processes that share the store reach theirs within that time, so if many requests need no ID, don't let the probe
// take these away from every process: answer only those that need an ID with an error. An overload, in which calls wait
// for their turn, is no reason for an error.
//
// Errors: ErrClosed after Close; snowflake.ErrLeaseStalled if the horizon is reached or no worker is held, with the
// store's last error, such as ErrLost or a *NoWorkerError, if its last call has failed; ErrBehindHorizon as long as the
// first ID of the worker is not due, after a takeover at most a window, after a failover until the floor;
// snowflake.ErrBeforeEpoch and ErrTimeExhausted if the clock is outside the layout's time; and the error of Healthy.
// The texts can contain addresses of the store: they are for the log, not for the reply to a stranger.
func (l *Lease) Ready() error {
	tick, err := l.lessee.Tick()
	l.mu.Lock()
	h, status, last := l.health, l.status, l.lastErr
	l.mu.Unlock()
	switch {
	case h.ended != nil:
		return h.ended
	case err != nil:
		return err
	case tick >= h.horizon:
		err = fmt.Errorf("%w: no worker of namespace %q is held", snowflake.ErrLeaseStalled, status.Namespace)
		if status.Held {
			err = fmt.Errorf("%w: worker %d of namespace %q", snowflake.ErrLeaseStalled, status.Worker, status.Namespace)
		}
		if status.Failures > 0 {
			err = fmt.Errorf("%w: %w", err, last)
		}
		return err
	case tick+l.lessee.Lead() < h.from:
		return fmt.Errorf("%w of worker %d: the first ID is due in about %v", ErrBehindHorizon, status.Worker,
			l.layout.Start(h.from-l.lessee.Lead()).Sub(l.layout.Start(tick)))
	}
	return nil
}

// Healthy returns nil unless the lease has ended by itself, for good, so that only a new Open helps. It is for liveness
// probes, which restart the process. The error is ErrLost with StopOnLoss after a loss, and os.ErrClosed if the store
// was closed before the lease.
//
// It returns nil as long as the store does not answer, all workers are held, or the clock is wrong. A restart would not
// help then, and it would lose the rest of the horizon, with which the process still issues IDs, and perhaps the worker.
// So Ready is no liveness probe. It returns nil after Close, too: the program has ended the lease itself.
func (l *Lease) Healthy() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.health.ended, ErrClosed) {
		return nil
	}
	return l.health.ended
}

// end records why the generator gets no more ticks. Close has the last word.
func (l *Lease) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.health.ended == nil || errors.Is(err, ErrClosed) {
		l.health.ended = err
	}
}
