//go:build unix

package filelease_test

import (
	osexec "os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake/lease/internal/processtest"
)

// A child has a copy of each open file between its fork and its exec, and with it the locks.
func TestAChildThatIsBeingStartedKeepsNoWorkerFromItsNextOwner(t *testing.T) {
	program, err := osexec.LookPath("true")
	if err != nil {
		t.Skip(err)
	}
	f := newStateFile(t, filepath.Join(t.TempDir(), "worker.json"))
	c := acquire(t, f, workerRequest(1, 12)).Claim
	extend(t, f, c, 5000) // above the tick, so it is looked at twice
	release(t, f, c)
	done := make(chan struct{})
	var children sync.WaitGroup
	defer children.Wait()
	defer close(done)
	for range 2 {
		children.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_ = osexec.Command(program).Run()
				}
			}
		})
	}
	for n := range processtest.Scale(50, 500) {
		release(t, f, acquire(t, f, workerRequest(n, 12)).Claim)
		if entries, err := f.List(t.Context(), ""); err != nil || len(entries) != 1 || entries[0].Held {
			t.Fatalf("List: got %+v, %v", entries, err)
		}
	}
}
