package snowflake

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// source gives a generator the core of its current worker. New grants its worker until the layout's end; a Lessee
// changes the worker and its limit.
type source struct {
	current atomic.Pointer[core]

	// The rest is for a lease.
	patience time.Duration
	wanted   chan struct{} // has an element when a call waits

	mu      sync.Mutex
	changed chan struct{} // closed when current, its limit or err changes
	last    ticks         // of the last ID that an earlier worker may have issued
	err     error         // for calls beyond a limit that does not rise any more
}

// draw takes count states from the current core, when they are below its limit.
func (s *source) draw(ctx context.Context, r reach, count uint64) (*core, state, error) {
	for {
		if ctx.Err() != nil {
			return nil, 0, waitError(ctx)
		}
		c := s.current.Load()
		now, err := c.read()
		if err != nil {
			return nil, 0, err
		}
		first, err := c.take(ctx, r, now, count)
		if err == errBeyond { //nolint:errorlint // never wrapped
			if err := s.await(ctx, c, first); err != nil {
				return nil, 0, err
			}
			continue
		}
		return c, first, err
	}
}

// await returns when a call that found the limit of c below the state should try again.
func (s *source) await(ctx context.Context, c *core, wanted state) error {
	since := c.elapsed()
	waited, err := s.stall(ctx, c, wanted)
	if waited {
		c.observers.observe(OpStall, c.elapsed()-since, err)
	}
	return err
}

// stall is await, and reports whether it had to wait.
func (s *source) stall(ctx context.Context, c *core, wanted state) (waited bool, err error) {
	var over <-chan error
	for stalled := error(nil); ; waited = true {
		s.mu.Lock()
		current, changed, err := s.current.Load(), s.changed, s.err
		s.mu.Unlock()
		if current != c || wanted <= c.limit.Load() {
			return waited, nil
		}
		if err = cmp.Or(err, stalled); err != nil {
			return waited, err
		}
		if _, limited := ctx.Deadline(); !limited && !waited {
			var stop func()
			over, stop = s.startPatience(ctx, c)
			defer stop() // once: the next round has waited
		}
		select {
		case s.wanted <- struct{}{}:
		default:
		}
		select {
		case <-changed:
			continue
		case <-ctx.Done():
		case err = <-over:
		}
		if ctx.Err() != nil {
			return true, fmt.Errorf("%w: %w", ErrLeaseStalled, waitError(ctx))
		}
		if stalled = fmt.Errorf("%w: waited %v", ErrLeaseStalled, s.patience); err != nil {
			stalled = fmt.Errorf("%w: waiting for the clock: %w", ErrLeaseStalled, err)
		}
	}
}

// startPatience returns a channel that receives the end of the patience by the clock of c, and a function that stops it.
func (s *source) startPatience(ctx context.Context, c *core) (over <-chan error, stop func()) {
	end := make(chan error, 1)
	if !c.injected() || s.patience == 0 {
		timer := time.AfterFunc(s.patience, func() { end <- nil })
		return end, func() { timer.Stop() }
	}
	ctx, stop = context.WithCancel(ctx)
	go func() { end <- c.clock.Sleep(ctx, s.patience) }()
	return end, stop
}

// retire freezes the current core, after which no call can take IDs from it, and records how far it came.
func (s *source) retire() *core {
	old := s.current.Load()
	if last := old.state.Swap(frozen); last != frozen {
		s.last = old.tickOf(last)
		old.retired.Add(uint64(last - old.start))
	}
	return old
}

// broadcast wakes the calls in await.
func (s *source) broadcast() {
	close(s.changed)
	s.changed = make(chan struct{})
}
