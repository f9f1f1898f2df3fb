package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// The protocol. One rule separates the IDs of two owners of a worker:
//
//	An ID may be issued only if its tick lies below a horizon that the store has committed before under this owner's
//	epoch, and not below the horizon that the acquisition of the epoch has read. Only an owner that issues nothing more
//	lowers the horizon: to a tick above all that it has issued, and not below where it started. A takeover raises the
//	epoch and starts at the horizon of the row.
//
// Extensions and releases under the epoch e change the row only until it has the epoch e+1, and the acquisition of e+1
// reads the horizon after that. What it reads is above each tick issued under e:
//
//   - Without a release it is at or above all horizons committed under e, so above all that may be issued under e.
//   - With a release, the owner had frozen its generator before it asked: what it has issued lies below the tick it has
//     asked for, and it issues nothing more. The tick never changes, so a repeated release writes the same. A late
//     extension can only raise the horizon.
//
// It is also at or above what the acquisition of e has read, thus above each tick issued under the epochs before. So
// the ticks of two owners never overlap, whatever clocks, pauses, kills and expiries do; these decide when a worker
// changes hands. A claim that the store has called lost, or that it has not confirmed, lowers nothing. The model in
// model/lease.pml uses the same names.

// maxBackoff bounds how long the lease waits before it asks again: long windows are for outages, and a store that is
// back should not have to wait for one.
const maxBackoff = DefaultWindow / 4

// step does what is due: it acquires a worker or extends the one that is held, and returns how long to wait before the
// next step. An error is final.
func (l *Lease) step(ctx context.Context) (time.Duration, error) {
	if !l.held {
		return l.acquire(ctx)
	}
	return l.extend(ctx)
}

// acquire takes a worker, commits a first horizon, and only then lets the generator use it.
func (l *Lease) acquire(ctx context.Context) (time.Duration, error) {
	tick, err := l.lessee.Tick()
	if err != nil {
		if l.running() { // the clock may be corrected
			return l.failed(ctx, err)
		}
		return 0, err
	}
	gap := l.clockGap(tick)
	if l.token == "" {
		l.token = newToken()
	}
	grant, err := l.callAcquire(ctx, tick)
	if err != nil {
		return l.refused(ctx, err)
	}
	if grant.Claim != l.claim { // if equal, an earlier reply was lost, and what was committed since is the lease's own
		l.claim, l.from = grant.Claim, grant.Horizon
	}
	if err := l.checkClocks(grant, tick, gap); err != nil {
		return 0, err
	}
	// The new horizon depends on the clock and not on the old horizon, which would move it a window further with each
	// owner. Until the clock has come near the old horizon nothing can be issued, and extensions do no harm.
	if err := l.commit(ctx, tick); err != nil {
		if errors.Is(err, ErrLost) { // the call was so slow that the worker expired
			l.token, l.claim = "", Claim{}
		}
		return l.failed(ctx, err)
	}
	if err := l.lessee.Move(grant.Worker, l.from, l.horizon); err != nil {
		return 0, err
	}
	l.token, l.held, l.denied = "", true, 0
	l.note(nil)
	l.tell(Acquired, nil)
	return l.period(), nil
}

// extend commits a higher horizon and then lets the generator go up to it. If the outcome is unknown the old horizon
// stays in force.
func (l *Lease) extend(ctx context.Context) (time.Duration, error) {
	tick, err := l.lessee.Tick()
	if err == nil {
		err = l.commit(ctx, tick)
	}
	switch {
	case errors.Is(err, ErrLost):
		return l.lost(err)
	case err != nil:
		return l.failed(ctx, err)
	}
	l.lessee.Extend(l.horizon)
	l.note(nil)
	l.tell(Extended, nil)
	if drift := l.Generator().Stats().Drift; drift.Abs() > l.cfg.maxSkew {
		stepped := l.event(Stepped, nil)
		stepped.Skew = drift
		l.report(stepped)
	}
	return l.period(), nil
}

// commit asks the store for a horizon and returns when it is durable.
func (l *Lease) commit(ctx context.Context, tick int64) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout())
	defer cancel()
	horizon := max(l.horizonOf(tick), l.horizon)
	before := l.cfg.clock.Now()
	now, err := l.store.Extend(ctx, l.claim, horizon, l.cfg.ttl)
	if err != nil {
		return err
	}
	l.horizon = horizon
	l.observe(now, before)
	return nil
}

// horizonOf returns the horizon to commit: a window beyond all that may be issued at the tick.
func (l *Lease) horizonOf(tick int64) int64 {
	return tick + l.lessee.Lead() + max(1, ticks(l.cfg.window, l.layout))
}

func (l *Lease) callAcquire(ctx context.Context, tick int64) (Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout())
	defer cancel()
	before := l.cfg.clock.Now()
	grant, err := l.store.Acquire(ctx, Request{
		Namespace: l.cfg.namespace, Layout: l.layout.String(), First: l.cfg.first, Last: l.cfg.last,
		Token: l.token, TTL: l.cfg.ttl, Tick: tick, Holder: l.cfg.holder,
	})
	if err == nil {
		l.horizon = 0 // nothing is committed under this claim yet
		l.observe(grant.Now, before)
	}
	return grant, err
}

// refused handles the errors of Acquire.
func (l *Lease) refused(ctx context.Context, err error) (time.Duration, error) {
	var none *NoWorkerError
	if !errors.As(err, &none) {
		return l.failed(ctx, err)
	}
	l.retries = 0 // the store has answered
	l.note(err)
	if l.denied++; l.denied == 1 {
		l.tell(Failed, err) // once, not at each attempt
	}
	wait := none.Wait
	if wait <= 0 { // unknown
		wait = l.cfg.window / 64 << min(l.denied, 4)
	}
	// At most a default window, however long this one is: a worker may be given back before it expires.
	return min(max(wait, 10*time.Millisecond), l.cfg.window, DefaultWindow), nil
}

// failed handles other errors. The outcome is unknown, so the same is tried again soon, unless the error is final.
func (l *Lease) failed(ctx context.Context, err error) (time.Duration, error) {
	switch {
	case ctx.Err() != nil:
		return 0, errors.Join(ctx.Err(), err)
	case errors.Is(err, os.ErrClosed): // the store, for good
		return 0, err
	case !l.running() && (errors.Is(err, ErrLayout) || errors.Is(err, ErrOption) || errors.Is(err, ErrDamaged)):
		return 0, err
	}
	l.note(err)
	l.tell(Failed, err)
	l.retries++
	backoff := l.cfg.window / 64 << min(l.retries, 4)
	return jitter(min(backoff, maxBackoff)), nil
}

// lost handles a takeover: the generator may use what is left below its horizon, and continues with another worker as
// soon as there is one. There is nothing to give back.
func (l *Lease) lost(err error) (time.Duration, error) {
	l.held = false
	l.note(err)
	l.tell(Lost, err)
	worker := l.claim.Worker
	l.claim = Claim{}
	if l.cfg.stopOnLoss {
		return 0, fmt.Errorf("lease: worker %d of namespace %q: %w", worker, l.cfg.namespace, err)
	}
	return 0, nil
}

// running reports whether the lease has had a worker.
func (l *Lease) running() bool { return l.status.Epoch > 0 }

// period returns half a window, plus or minus a tenth, so that processes that were started together do not ask
// together.
func (l *Lease) period() time.Duration {
	l.retries = 0
	return jitter(l.cfg.window / 2)
}

func jitter(d time.Duration) time.Duration {
	return d*9/10 + rand.N(d/5+1)
}

// timeout is how long one call of the store may take. Two fit into what is left of a window when an extension is due,
// if the window is not very short.
func (l *Lease) timeout() time.Duration { return max(l.cfg.window/5, 50*time.Millisecond) }
