package lease

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// ErrClosed is returned by the generator of a Lease after Close.
var ErrClosed = errors.New("lease: closed")

// Lease holds a worker for this process, extends its horizon in the background,
// and takes another worker when that one is lost. Its methods are safe for
// concurrent use.
type Lease struct {
	store  Store
	cfg    config
	lessee *snowflake.Lessee
	layout snowflake.Layout

	stop context.CancelFunc
	done chan struct{}

	closing  chan struct{} // has an element while a call of Close asks the store
	released bool          // the store was asked
	err      error         // what it said

	// The protocol's state, which only the goroutine of run has after Open.
	claim   Claim
	held    bool
	token   string // of an acquisition under way
	from    int64  // the horizon that the claim started at
	horizon int64  // committed by the store under claim
	skew    time.Duration
	retries int   // calls in a row that the store has not answered
	denied  int   // acquisitions in a row for which all workers were held
	lastErr error // the last that was not final

	mu     sync.Mutex // guards what status and trust read
	status Status
	seen   storeTime
}

// storeTime is what the store's clock showed, and when that was by a clock that
// does not step.
type storeTime struct {
	now time.Time
	at  time.Duration
}

// Status is how a lease stands.
type Status struct {
	Namespace string
	Worker    int64
	Epoch     int64
	Held      bool          // false between a loss and the next worker
	Horizon   time.Time     // up to which IDs may be issued
	Extended  time.Time     // the last time that the store has answered
	Failures  int           // in a row, since then
	Skew      time.Duration // of the wall clock against the store's; 0 if that is the same
}

// Open takes a worker from the store, commits a horizon for it, and returns a
// lease whose generator is ready. If the owner before was not closed, and there is
// no other worker than its own, the first ID is due when the clock has reached the
// old horizon: up to a window later. After a Close it is due at once. If all workers
// are held Open waits for one; ctx bounds that and every other wait of Open, not
// the life of the lease.
//
// Errors: ErrOption for bad settings, ErrLayout if the namespace is in use with
// another layout, ErrDamaged from a file, ErrNoWorker when ctx ends while all workers are held,
// ErrClockSkew if the wall clock is away from the store's by more than the limit
// (WithMaxSkew), ErrBehindHorizon if it is behind what IDs were issued for, the
// store's errors if it has not answered for a window, at most DefaultWindow, and those of snowflake.New
// for the generator's options. When it returns an error it holds no worker, unless
// the store could not be told: that one is free after two windows.
func Open(ctx context.Context, store Store, opts ...Option) (*Lease, error) {
	l, err := prepare(store, opts)
	if err != nil {
		return nil, err
	}
	if err := l.start(ctx); err != nil {
		l.giveUp()
		return nil, err
	}
	run, stop := context.WithCancel(context.Background())
	l.stop, l.done = stop, make(chan struct{})
	go l.run(run)
	return l, nil
}

// prepare returns a lease that holds nothing yet and has no goroutine.
func prepare(store Store, opts []Option) (*Lease, error) {
	if store == nil {
		return nil, fmt.Errorf("%w: nil Store", ErrOption)
	}
	cfg, err := configure(opts)
	if err != nil {
		return nil, err
	}
	l := &Lease{store: store, cfg: cfg, closing: make(chan struct{}, 1)}
	if l.lessee, err = snowflake.NewLessee(cfg.patience, l.trusts, cfg.generator...); err != nil {
		return nil, err
	}
	l.layout = l.lessee.Generator().Layout()
	if l.cfg.first, l.cfg.last, err = cfg.workers(l.layout); err != nil {
		return nil, err
	}
	l.status.Namespace = cfg.namespace
	return l, nil
}

// Generator returns the generator of the leased worker. It stays the same when
// the worker changes.
func (l *Lease) Generator() *snowflake.Generator { return l.lessee.Generator() }

// Patience returns how long calls whose context never ends wait for a horizon (WithPatience).
func (l *Lease) Patience() time.Duration { return l.cfg.patience }

// Status returns how the lease stands.
func (l *Lease) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}

// Close ends the use of the worker and gives it back, with what is left of its
// horizon: the next owner starts above the last ID drawn here, and need not wait
// for the clock. Calls of the generator return ErrClosed from then on; calls that
// wait for an ID of theirs to be due may still return it. ctx bounds the wait for
// the store; without its answer the worker is free after two windows, at the old
// horizon. Once the store was asked, further calls return what it said.
func (l *Lease) Close(ctx context.Context) error {
	next := l.lessee.Close(ErrClosed) // before all else: what was given back must not be issued
	l.stop()
	select {
	case <-l.done: // and the protocol's state is this goroutine's
	case <-ctx.Done():
		return fmt.Errorf("lease: close: %w: the store is still busy with an extension", ctx.Err())
	}
	select {
	case l.closing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("lease: close: %w: another call is at it", ctx.Err())
	}
	defer func() { <-l.closing }()
	if !l.released {
		l.released, l.err = true, l.release(ctx, next)
	}
	return l.err
}

// release gives the worker back, also one that was acquired but not yet used. The
// generator is closed: it has drawn no tick from next on, and draws nothing more.
func (l *Lease) release(ctx context.Context, next int64) error {
	if l.claim.Token == "" {
		return nil
	}
	unused := l.unused(next)
	err := l.store.Release(ctx, l.claim, unused)
	l.held = false
	switch {
	case errors.Is(err, ErrLost):
		return nil // nothing to give back
	case err != nil:
		return fmt.Errorf("lease: release worker %d: %w", l.claim.Worker, err)
	}
	l.horizon = min(l.horizon, unused)
	l.note(nil)
	l.tell(Released, nil)
	return nil
}

// unused returns the first tick that no ID can have been issued for under the
// claim. The generator has no ID of a claim that it was not given, and those that
// it had for workers before say nothing about this one.
func (l *Lease) unused(next int64) int64 {
	if !l.held {
		return l.from
	}
	return max(l.from, next)
}

// start makes steps until a worker is held.
func (l *Lease) start(ctx context.Context) error {
	for answered := l.cfg.clock.Elapsed(); ; {
		wait, err := l.step(ctx)
		if err != nil && ctx.Err() != nil {
			return errors.Join(err, l.lastErr) // what it has waited for
		}
		if err != nil || l.held {
			return err
		}
		switch now := l.cfg.clock.Elapsed(); {
		case l.retries == 0:
			answered = now
		case now-answered > min(l.cfg.window, DefaultWindow):
			return l.lastErr
		}
		if err := l.cfg.clock.Sleep(ctx, wait); err != nil {
			return errors.Join(l.lastErr, err)
		}
	}
}

// giveUpTimeout bounds the try to give a worker back when something else has
// failed.
const giveUpTimeout = time.Second

// giveUp releases what Open has taken before it failed.
func (l *Lease) giveUp() {
	next := l.lessee.Close(ErrClosed)
	if l.claim.Token == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), giveUpTimeout)
	defer cancel()
	_ = l.store.Release(ctx, l.claim, l.unused(next)) // the expiry does the rest
}

// run extends the lease until ctx ends.
func (l *Lease) run(ctx context.Context) {
	defer close(l.done)
	wait := l.period()
	for l.pause(ctx, wait) == nil {
		var err error
		if wait, err = l.step(ctx); err != nil {
			if ctx.Err() == nil {
				if !errors.Is(err, ErrLost) { // which has been told
					l.note(err)
					l.tell(Failed, err)
				}
				l.lessee.Fail(err)
			}
			return
		}
	}
}

// pause waits for d, or until a call wants the horizon to rise: after the sleep
// of a laptop, say. Calls can hurry neither a store that does not answer, nor one
// that has just answered: there are bursts that no horizon is enough for.
func (l *Lease) pause(ctx context.Context, d time.Duration) error {
	calm := min(d, l.cfg.window/8)
	if l.retries > 0 {
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

func newToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}
