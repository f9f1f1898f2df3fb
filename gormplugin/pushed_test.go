package gormplugin_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// pushed is the system clock, set ahead by what tests push it. With it the window of a lease is long, so that a machine
// that stands still for seconds does not matter, and no test waits for the end of a window.
type pushed struct {
	mu      sync.Mutex
	ahead   time.Duration
	changed chan struct{} // closed by the next push
}

func newPushed() *pushed { return &pushed{changed: make(chan struct{})} }

func (c *pushed) get() (time.Duration, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead, c.changed
}

func (c *pushed) Now() time.Time {
	ahead, _ := c.get()
	return time.Now().Add(ahead)
}

func (c *pushed) Elapsed() time.Duration {
	ahead, _ := c.get()
	return time.Since(clockOrigin) + ahead
}

func (c *pushed) Sleep(ctx context.Context, d time.Duration) error {
	for until := c.Elapsed() + d; ; {
		_, changed := c.get()
		left := until - c.Elapsed()
		if left <= 0 {
			return nil
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}

func (c *pushed) push(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
	close(c.changed)
	c.changed = make(chan struct{})
}

const (
	window = time.Minute     // of a lease with this clock
	step   = 5 * time.Second // more than the lease waits before it asks again
)

// open returns a plugin with a lease that has this clock, and closes it at the end of the test. Calls of the generator
// are patient, unless the options say otherwise.
func (c *pushed) open(t testing.TB, h *handle, opts ...lease.Option) *gormplugin.Plugin {
	t.Helper()
	return h.leased(t, gormplugin.WithNow(c.Now), gormplugin.WithLease(append([]lease.Option{
		lease.WithClock(c), lease.WithWindow(window), lease.WithPatience(patience),
	}, opts...)...))
}

// until pushes the clock, so that the lease extends and horizons pass, until the condition holds.
func (c *pushed) until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		if condition() {
			return true
		}
		c.push(step)
		return false
	})
}

// pass pushes the clock beyond the horizon of a lease that can't be extended.
func (c *pushed) pass(t testing.TB, keys *gormplugin.Plugin) {
	t.Helper()
	c.until(t, "the horizon", func() bool { return keys.Lease().Status().Horizon.Before(c.Now()) })
}

// extensions returns a hook and a function that pushes the clock until the lease has extended.
func (c *pushed) extensions(t testing.TB) (lease.Option, func()) {
	extended := make(chan struct{}, 1)
	hook := lease.WithHook(func(e lease.Event) {
		if e.Kind == lease.Extended {
			select {
			case extended <- struct{}{}:
			default:
			}
		}
	})
	return hook, func() {
		t.Helper()
		c.until(t, "an extension", func() bool {
			select {
			case <-extended:
				return true
			default:
				return false
			}
		})
	}
}

// patience bounds waits for what other goroutines and the server do. On a busy machine they take seconds.
const patience = 3 * time.Minute

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
