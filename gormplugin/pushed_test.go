package gormplugin_test

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// pushed is a clock that tests push ahead, and with it leases.
type pushed struct{ *testclock.Clock }

func newPushed() pushed { return pushed{testclock.New(0)} }

const (
	window = time.Minute     // of a lease with this clock
	step   = 5 * time.Second // more than the lease waits before it asks again
)

// open returns a plugin with a lease that has this clock, and closes it at the end of the test. Calls of the generator
// are patient, unless the options say otherwise.
func (c pushed) open(t testing.TB, h *handle, opts ...lease.Option) *gormplugin.Plugin {
	t.Helper()
	return h.leased(t, gormplugin.WithNow(c.Now), gormplugin.WithLease(append([]lease.Option{
		lease.WithClock(c.Clock), lease.WithWindow(window), lease.WithPatience(patience),
	}, opts...)...))
}

// until pushes the clock, so that the lease extends and horizons pass, until the condition holds.
func (c pushed) until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		if condition() {
			return true
		}
		c.Push(step)
		return false
	})
}

// pass pushes the clock beyond the horizon of a lease that can't be extended.
func (c pushed) pass(t testing.TB, keys *gormplugin.Plugin) {
	t.Helper()
	c.until(t, "the horizon", func() bool { return keys.Lease().Status().Horizon.Before(c.Now()) })
}

// extend pushes the clock until the lease has extended.
func (c pushed) extend(t testing.TB, keys *gormplugin.Plugin) {
	t.Helper()
	before := keys.Lease().Status().Horizon
	c.until(t, "an extension", func() bool { return keys.Lease().Status().Horizon.After(before) })
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
