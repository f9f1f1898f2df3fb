package bench

import (
	"context"
	"sync/atomic"
	"time"
)

// Clock is a system clock that can be moved.
type Clock struct {
	base        time.Time
	Ahead, Back atomic.Int64 // ns: Ahead moves both clocks; Back is how far the wall clock was set back
}

// NewClock returns a clock whose wall clock was set back.
func NewClock(back time.Duration) *Clock {
	c := &Clock{base: time.Now()}
	c.Back.Store(int64(back))
	return c
}

// Now returns the wall clock.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.Ahead.Load() - c.Back.Load())) }

// Elapsed returns the monotonic clock.
func (c *Clock) Elapsed() time.Duration { return time.Since(c.base) + time.Duration(c.Ahead.Load()) }

// Sleep waits on the system clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
