// Package testclock has a clock for tests.
package testclock

import (
	"context"
	"sync"
	"time"
)

// Clock is the system clock, set ahead or back, as a snowflake.Clock. With it the window of a lease can be long, so
// that a machine that stands still for seconds does not matter, and no test waits for the end of a window. Its methods
// are safe for concurrent use.
type Clock struct {
	mu      sync.Mutex
	ahead   time.Duration
	changed chan struct{} // closed by the next Push
}

// New returns a clock that is ahead of the system's, or behind it if ahead is negative.
func New(ahead time.Duration) *Clock { return &Clock{ahead: ahead, changed: make(chan struct{})} }

// Push sets the clock ahead, both its wall time and its monotonic time. Calls of Sleep end that are over then.
func (c *Clock) Push(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Clock) get() (ahead time.Duration, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead, c.changed
}

// Now returns the wall time.
func (c *Clock) Now() time.Time {
	ahead, _ := c.get()
	return time.Now().Add(ahead)
}

var origin = time.Now()

// Elapsed returns the monotonic time.
func (c *Clock) Elapsed() time.Duration {
	ahead, _ := c.get()
	return time.Since(origin) + ahead
}

// Sleep waits for d by this clock, or until ctx is done, and then returns ctx.Err().
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	for until := c.Elapsed() + d; ; {
		_, changed := c.get()
		left := until - c.Elapsed()
		if left <= 0 {
			return nil
		}

		select {
		case <-time.After(left):
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
