//go:build unix

package filelease_test

import (
	"context"
	"errors"
	osexec "os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// A child has a copy of each open file between its fork and its exec, and with it the locks.
func TestAChildThatIsBeingStartedNeitherKeepsNorEndsALock(t *testing.T) {
	program, err := osexec.LookPath("true")
	if err != nil {
		t.Fatal(err) // every Unix has it
	}
	path := filepath.Join(t.TempDir(), "worker.json")
	f := newStateFile(t, path)
	c := acquire(t, f, workerRequest(1, 12)).Claim
	extend(t, f, c, 5000) // above the tick, so it is looked at twice
	release(t, f, c)
	other := newStateFile(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	var children sync.WaitGroup
	defer children.Wait()
	defer cancel()
	for range 2 {
		children.Go(func() {
			for ctx.Err() == nil {
				_ = osexec.Command(program).Run()
			}
		})
	}
	for n := range processtest.Scale(50, 500) {
		c = acquire(t, f, workerRequest(n, 12)).Claim
		if _, err := other.Acquire(t.Context(), workerRequest(n+1000, 12)); !errors.Is(err, lease.ErrNoWorker) {
			t.Fatalf("a second owner: %v, want ErrNoWorker", err)
		}
		release(t, f, c)
		if entries, err := f.List(t.Context(), ""); err != nil || len(entries) != 1 || entries[0].Held {
			t.Fatalf("List: got %+v, %v", entries, err)
		}
	}
}
