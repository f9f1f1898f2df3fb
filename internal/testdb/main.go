package testdb

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// mainRuns is true from the first call of Main on.
var mainRuns atomic.Bool

// Main runs the tests of a package and returns the exit code. Call it in TestMain: os.Exit(testdb.Main(m)). At the end
// it stops the throwaway servers that tests have started. After an interrupt it also removes what the tests have
// created.
func Main(m *testing.M) int {
	mainRuns.Store(true)
	defer Stop()

	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()

	done := make(chan int, 1)
	go func() { done <- m.Run() }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
		removeOutstanding()
		return 130 // 128 + SIGINT, as shells count
	}
}

// removal deletes what a test was given. It runs once: when the test ends, or when the run is interrupted.
type removal struct {
	what   string
	remove func(ctx context.Context) error
	once   sync.Once
}

// outstanding holds the removals that have not run yet.
var outstanding sync.Map // *removal to nothing

// removeAtEnd calls remove when the test ends, or earlier if the run is interrupted. Call it before the resource is
// created, so that an interrupt in between leaves nothing; remove must accept that the resource does not exist.
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

// removeOutstanding runs the removals that have not run, after an interrupt.
func removeOutstanding() {
	outstanding.Range(func(key, _ any) bool {
		if r := key.(*removal); r.run() != nil {
			fmt.Fprintf(os.Stderr, "testdb: %s is left behind\n", r.what)
		}
		return true
	})
}

// run calls remove, the first time only.
func (r *removal) run() (err error) {
	r.once.Do(func() {
		// Not tb.Context(), which is already canceled when a cleanup runs.
		ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
		defer cancel()
		err = r.remove(ctx)
		outstanding.Delete(r)
	})
	return err
}
