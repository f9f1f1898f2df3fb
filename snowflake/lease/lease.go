package lease

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/internal/core"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/attempt"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// closeTimeout bounds the call that gives a worker back when the caller's context has ended, or Open or Reserve has
// failed.
const closeTimeout = time.Second

// Lease holds a worker for this process, extends its horizon in the background, and takes another worker if that one is
// lost. Its methods are safe for concurrent use.
type Lease struct {
	store  leasestore.Store
	cfg    config
	gen    *snowflake.Generator
	lessee *core.Lessee
	layout snowflake.Layout

	calls attempt.Calls      // of the store
	stop  context.CancelFunc // ends run, and what calls have begun
	idle  chan struct{}      // has an element when run has ended and no Close is waiting for the store

	state claimState // of Open, then of the goroutine of run, then of the Close that has taken the element

	mu        sync.Mutex // guards shared and observers, and is not held while these run
	shared    shared
	observers []*func(Event) // no array of it is changed
}

// Open takes a worker from the store, commits a horizon for it, and returns a lease whose generator is ready. If all
// workers are held, it waits for one. ctx bounds every wait of Open, not the life of the lease.
//
// If the worker was given back by Close, the first ID is due at once. If its owner died, and no other worker is free,
// the first ID is due when the clock reaches the old horizon, up to a window later. After a failover of the store it is
// due later: see package sqllease. Open does not wait for that: calls of the generator do.
//
// Errors: ErrOption for invalid options, and what snowflake.New returns for the generator's options; ErrLayout if the
// namespace is in use with another layout; ErrDamaged if the store can't read its state; ErrNoWorker if ctx ends while
// all workers are held; ErrClockSkew if the clock differs from the store's by more than WithMaxSkew; ErrBehindHorizon
// if the clock is far behind the horizon or the floor; a *VersionError if a later version of this module has changed
// the namespace; a *ReachError if the namespace allows no window yet that is short enough for the lead and the skew;
// and the store's errors if it does not answer for DefaultWindow. After an error Open holds no worker. If the store
// does not answer for a second more, or executes an Acquire later, the worker is free after two windows.
func Open(ctx context.Context, store leasestore.Store, opts ...Option) (*Lease, error) {
	l, err := prepare(store, opts)
	if err != nil {
		return nil, err
	}

	wait, err := l.start(ctx)
	if err != nil {
		l.giveUp()
		return nil, err
	}

	go l.run(l.calls.Life, wait)
	return l, nil
}

// prepare returns a lease that holds nothing yet and has no goroutine.
func prepare(store leasestore.Store, opts []Option) (*Lease, error) {
	if store == nil {
		return nil, fmt.Errorf("%w: nil Store", ErrOption)
	}

	cfg, err := configure(opts)
	if err != nil {
		return nil, err
	}

	l := &Lease{store: store, cfg: cfg, idle: make(chan struct{}, 1)}

	gen, lessee, err := core.LeasedGenerator(cfg.generator, cfg.patience, l.trusts)
	if err != nil {
		return nil, err
	}
	l.gen, l.lessee = gen.(*snowflake.Generator), lessee

	l.layout = l.gen.Layout()
	if l.cfg.first, l.cfg.last, err = cfg.workers(l.layout); err != nil {
		return nil, err
	}

	l.calls.Life, l.stop = context.WithCancel(context.Background())
	l.shared.Namespace = cfg.namespace
	for _, f := range append([]func(Event){l.log}, cfg.observers...) {
		l.Observe(f)
	}

	return l, nil
}

// Generator returns the generator of the leased worker. It stays the same when the worker changes.
func (l *Lease) Generator() *snowflake.Generator { return l.gen }

// Worker returns the number of the worker that the lease holds, or held last. It may change after a loss.
func (l *Lease) Worker() int64 { return l.gen.Worker() }

// Close ends the use of the worker and gives it back with the unused part of its horizon: the next owner starts above
// the last ID drawn here, and does not have to wait for the clock. From then on calls of the generator return
// ErrClosed; calls that are waiting for their ID to be due may still return it.
//
// ctx bounds the wait for the store. If it has already ended, Close still calls the store, for at most a second. After
// an error Close can be called again. If it never succeeds, the worker, or one of an interrupted acquisition which the
// store executes later, is free after two windows, at the old horizon; on files, when the store is closed or the
// process ends. It is no error if the worker was lost.
func (l *Lease) Close(ctx context.Context) error {
	l.end(ErrClosed)
	next := l.lessee.Close(ErrClosed) // before the rest, since what is given back must not be issued
	l.stop()

	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
	}

	select {
	case <-l.idle:
	case <-ctx.Done():
		select {
		case <-l.idle: // too: what has ended counts
		default:
			return fmt.Errorf("lease: close: a call of the store has not returned yet: %w", ctx.Err())
		}
	}

	defer func() { l.idle <- struct{}{} }()
	if l.state.released {
		return nil
	}

	err := l.release(ctx, next)
	l.state.released = err == nil
	return err
}

// release gives the worker back, used or not. The generator is closed and has drawn nothing from the tick next on.
func (l *Lease) release(ctx context.Context, next int64) error {
	if l.state.mayHold {
		if err := l.retrieve(ctx); err != nil {
			return fmt.Errorf("lease: an acquisition whose outcome is unknown: %w", err)
		}
	}

	if l.state.claim.Epoch == 0 {
		return nil
	}

	unused := l.state.unused(next)
	start := l.cfg.clock.Elapsed()
	err := l.store.Release(ctx, l.state.claim, unused)
	l.called("release", start, err)

	switch {
	case errors.Is(err, ErrLost):
		l.state.held = false
		l.record(err)
		return nil
	case err != nil:
		return fmt.Errorf("lease: release worker %d: %w", l.state.claim.Worker, err)
	}

	l.state.held, l.state.horizon = false, min(l.state.horizon, unused)
	acquired := l.hadWorker()
	if l.record(nil); acquired { // not by an Open that fails
		l.reportKind(Released, nil)
	}
	return nil
}

// start makes steps until a worker is held, and returns how long to wait before the next one.
func (l *Lease) start(ctx context.Context) (time.Duration, error) {
	for answered := l.cfg.clock.Elapsed(); ; {
		wait, err := l.step(ctx)
		if err != nil && ctx.Err() != nil {
			return 0, errors.Join(err, l.snapshot().last) // the latter says what Open was waiting for
		}
		if err != nil || l.state.held {
			return wait, err
		}

		switch now := l.cfg.clock.Elapsed(); {
		case l.state.retries == 0:
			answered = now
		case now-answered > DefaultWindow:
			return 0, l.snapshot().last
		}

		if err := l.cfg.clock.Sleep(ctx, wait); err != nil {
			return 0, errors.Join(l.snapshot().last, err)
		}
	}
}

// retrieve finds the worker of an acquisition whose reply was lost, by a repeated call with the same token. If there is
// none, the store may lend one now; the caller gives it back.
func (l *Lease) retrieve(ctx context.Context) error {
	tick, _ := l.lessee.Tick() // only the choice of the worker depends on it
	grant, err := l.callAcquire(ctx, tick)
	if err == nil {
		l.state.grant(grant, grant.Horizon)
	}
	if !l.state.mayHold {
		return nil
	}
	return err
}

// giveUp releases what Open has taken before it failed.
func (l *Lease) giveUp() {
	next := l.lessee.Close(ErrClosed)
	l.stop()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = l.release(ctx, next) // if it fails, the worker expires
}

// run extends the lease until ctx ends, the first time after wait.
func (l *Lease) run(ctx context.Context, wait time.Duration) {
	defer func() { l.idle <- struct{}{} }()
	defer l.stop() // after an error, too

	for l.pause(ctx, wait) == nil {
		var err error
		if wait, err = l.step(ctx); err != nil {
			if ctx.Err() == nil {
				if !errors.Is(err, ErrLost) { // lost has reported that
					l.record(err)
					l.reportKind(Failed, err)
				}
				l.end(err) // before the calls that wait return
				l.lessee.Fail(err)
			}
			return
		}
	}
}

// pause waits for d, or until a call wants the horizon to rise, for example after the sleep of a laptop. A call does
// not hurry a store that failed to answer, nor one that answered less than an eighth of the window ago: no horizon is
// high enough for every burst.
func (l *Lease) pause(ctx context.Context, d time.Duration) error {
	calm := min(d, l.window()/8)
	if l.state.retries > 0 {
		calm = d
	}

	if err := l.cfg.clock.Sleep(ctx, calm); err != nil || calm == d {
		return err
	}

	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-l.lessee.Wanted():
			cancel()
		case <-waiting.Done():
		}
	}()

	_ = l.cfg.clock.Sleep(waiting, d-calm)
	return ctx.Err()
}

// newToken returns a token that no copy of this process draws.
func newToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand

	// The kernels of two copies of a virtual machine may return the same bytes until they are reseeded, which Linux
	// does since 5.18 if the hypervisor reports the copy. The time of the two calls differs, and keeps the bytes
	// random.
	now := binary.BigEndian.Uint64(b[8:]) ^ uint64(time.Now().UnixNano())
	binary.BigEndian.PutUint64(b[8:], now)
	return hex.EncodeToString(b[:])
}
