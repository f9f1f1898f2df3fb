package testdb

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"testing"
)

// mainRuns is true from the first call of Main on.
var mainRuns atomic.Bool

// Main runs the tests of a package and returns the exit code; use it as os.Exit(testdb.Main(m)) in TestMain. It stops
// the throwaway cluster that a test may have started. When the run is interrupted it also removes what the tests have.
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
