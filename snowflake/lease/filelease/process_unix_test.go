//go:build unix

package filelease_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease/internal/processtest"
)

// childDir is the variable with the folder of a process that runs TestAKilledOwnersHorizonIsNeverLost as the owner.
const childDir = "SQLFLAKE_FILE_CHILD_DIR"

func TestAKilledOwnersHorizonIsNeverLost(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		ownAndExtend(t, dir)
	}
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var epoch, durable int64
	for round := range processtest.Scale(10, 50) {
		cmd := osexec.Command(program, "-test.run=^"+t.Name()+"$", "-test.timeout=9m")
		cmd.Env = append(os.Environ(), childDir+"="+dir, "GORACE=atexit_sleep_ms=0") // which is a second otherwise
		pipe, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(processtest.Patience, func() { _ = cmd.Process.Kill() })
		out, kill := bufio.NewScanner(pipe), rand.N(10)
		for lines := 0; out.Scan(); lines++ {
			var gotEpoch, horizon int64
			if n, _ := fmt.Sscanf(out.Text(), "%d %d\n", &gotEpoch, &horizon); n < 2 {
				break // the last line was cut off
			}
			if lines == 0 {
				epoch++
			}
			// The killed process may have written more than it has reported, never less.
			if gotEpoch != epoch || horizon < durable {
				t.Errorf("round %d: epoch %d, horizon %d after epoch %d, horizon %d", round, gotEpoch, horizon, epoch, durable)
			}
			if durable = horizon; lines == kill {
				time.Sleep(rand.N(3 * time.Millisecond)) // any instant will do
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
	}
	if g := acquire(t, newFile(t, dir), fileRequest(1, 0)); g.Horizon < durable || durable == 0 {
		t.Errorf("horizon %d, told durable: %d", g.Horizon, durable)
	}
}

// ownAndExtend takes the worker 0 and raises its horizon until it is killed.
func ownAndExtend(t *testing.T, dir string) {
	f := newFile(t, dir)
	g := acquire(t, f, fileRequest(os.Getpid(), 0))
	for horizon := g.Horizon; ; horizon++ {
		extend(t, f, g.Claim, horizon)
		fmt.Println(g.Epoch, horizon)
	}
}

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
		release(t, f, acquire(t, f, workerRequest(n, 12)).Claim)
		if entries, err := f.List(t.Context(), ""); err != nil || len(entries) != 1 || entries[0].Held {
			t.Fatalf("List: got %+v, %v", entries, err)
		}
	}
}
