package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// leasedGenerator is the generator of a lease, for creates. They mostly hold a connection while they wait for the horizon to
// rise, perhaps the one that the extension needs. So none waits for that without an end: neither with a context that can be
// canceled, as that of a request, but has no deadline.
type leasedGenerator struct {
	*snowflake.Generator
	patience time.Duration
	store    *leaseStore
}

// Fill returns snowflake.ErrLeaseStalled with the reason if one is known.
func (g *leasedGenerator) Fill(ctx context.Context, dst []snowflake.ID) error {
	if _, ends := ctx.Deadline(); !ends && ctx.Done() != nil {
		limited := &limitedContext{Context: ctx, limit: g.patience, store: g.store}
		defer limited.stop()
		ctx = limited
	}
	err := g.Generator.Fill(ctx, dst)
	if errors.Is(err, errPatience) { // as for a context without an end; the caller's was not canceled
		err = fmt.Errorf("%w: waited %v", snowflake.ErrLeaseStalled, g.patience)
	}
	if errors.Is(err, snowflake.ErrLeaseStalled) {
		if failure := g.store.failure.Load(); failure != nil {
			return fmt.Errorf("%w; the extension fails: %v", err, *failure) //nolint:errorlint // its context is not the caller's
		}
	}
	return err
}

// limitedContext is a context that is canceled, with errPatience, when somebody has waited for its end for as long as the
// limit, unless the store is fresh then: so the wait is for the clock. Its time begins with the first wait: nearly no call
// waits, and the rest should not pay for a timer.
type limitedContext struct {
	context.Context
	limit time.Duration
	store *leaseStore

	mu     sync.Mutex
	timed  context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

var errPatience = errors.New("gormplugin: the patience of the lease has ended")

// recheck is the least pause between two looks at the store.
const recheck = 10 * time.Millisecond

func (c *limitedContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed == nil {
		c.timed, c.cancel = context.WithCancelCause(c.Context)
		c.timer = time.AfterFunc(c.limit, c.expire)
	}
	return c.timed.Done()
}

// expire is what the timer calls.
func (c *limitedContext) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.timed.Err() != nil:
	case c.store.isFresh():
		c.timer.Reset(max(c.limit, recheck))
	default:
		c.cancel(errPatience)
	}
}

func (c *limitedContext) Err() error { return c.current().Err() }

func (c *limitedContext) Value(key any) any { return c.current().Value(key) }

func (c *limitedContext) current() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed == nil {
		return c.Context
	}
	return c.timed
}

func (c *limitedContext) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.cancel(nil)
	}
}
