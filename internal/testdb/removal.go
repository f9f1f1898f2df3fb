package testdb

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// removal takes away what a test was given. It runs once: when the test ends, or when the run is interrupted.
type removal struct {
	what   string
	remove func(ctx context.Context) error
	once   sync.Once
}

// outstanding holds the removals that have not run yet.
var outstanding sync.Map // *removal to nothing

// removeAtEnd lets remove run when the test ends, or earlier if the run is interrupted. Call it before the thing is made,
// so that no interrupt falls between; remove must be content if there is nothing.
func removeAtEnd(tb testing.TB, what string, remove func(ctx context.Context) error) {
	tb.Helper()
	r := &removal{what: what, remove: remove}
	outstanding.Store(r, nil)
	tb.Cleanup(func() {
		if err := r.run(); err != nil {
			tb.Errorf("testdb: %s: %v", what, err)
		}
	})
}

// removeOutstanding removes what the tests of an interrupted run still have.
func removeOutstanding() {
	outstanding.Range(func(key, _ any) bool {
		if r := key.(*removal); r.run() != nil {
			fmt.Fprintf(os.Stderr, "testdb: %s is left behind\n", r.what)
		}
		return true
	})
}

// run removes the thing, unless that was done already.
func (r *removal) run() (err error) {
	r.once.Do(func() {
		// Not the test's context, which is already cancelled when its cleanup runs.
		ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
		defer cancel()
		err = r.remove(ctx)
		outstanding.Delete(r)
	})
	return err
}
