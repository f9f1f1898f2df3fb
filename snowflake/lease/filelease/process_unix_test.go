//go:build unix

package filelease_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/processtest"
)

// The environment of the processes that run TestFileChild.
const (
	childRole = "SQLFLAKE_FILE_CHILD"
	childDir  = "SQLFLAKE_FILE_CHILD_DIR"
)

// childRoles are the programs of child processes by name.
var childRoles = map[string]func(*testing.T, lease.Store){"owner": ownAndExtend}

// TestFileChild is the program of the processes that the other tests start.
func TestFileChild(t *testing.T) {
	run, ok := childRoles[os.Getenv(childRole)]
	if !ok {
		t.Skip("the program of child processes: the other tests run it")
	}
	f, err := filelease.New(os.Getenv(childDir))
	if err != nil {
		t.Fatal(err)
	}
	run(t, f)
}

// ownAndExtend takes the worker 0 and raises its horizon until it is killed.
func ownAndExtend(t *testing.T, s lease.Store) {
	g := acquire(t, s, fileRequest(os.Getpid(), 0))
	fmt.Printf("acquired %d %d\n", g.Epoch, g.Horizon)
	for horizon := g.Horizon + 1; ; horizon++ {
		extend(t, s, g.Claim, horizon)
		fmt.Printf("durable %d %d\n", g.Epoch, horizon)
	}
}

// child is a running process.
type child struct {
	*osexec.Cmd
	out *bufio.Scanner
}

func startChild(t *testing.T, role, dir string) *child {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(program, "-test.run=^TestFileChild$", "-test.timeout=9m")
	cmd.Env = append(os.Environ(), childRole+"="+role, childDir+"="+dir, "GORACE=atexit_sleep_ms=0") // which is a second otherwise
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: cmd, out: bufio.NewScanner(out)}
	t.Cleanup(c.kill)
	return c
}

// line returns the next line that the child wrote.
func (c *child) line(t *testing.T) string {
	t.Helper()
	if !c.out.Scan() {
		t.Fatalf("the child ended early: %v", c.out.Err())
	}
	return c.out.Text()
}

// kill ends the child with SIGKILL.
func (c *child) kill() {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// rest returns what the child wrote until its end.
func (c *child) rest() []string {
	var lines []string
	for c.out.Scan() {
		lines = append(lines, c.out.Text())
	}
	return lines
}

func TestAKilledOwnersHorizonIsNeverLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rounds := processtest.Scale(10, 50)
	var epoch, durable int64
	for round := range rounds {
		c := startChild(t, "owner", dir)
		var gotEpoch, horizon int64
		if _, err := fmt.Sscanf(c.line(t), "acquired %d %d", &gotEpoch, &horizon); err != nil {
			t.Fatal(err)
		}
		// The killed process may have written more than it has reported, never less.
		if gotEpoch != epoch+1 || horizon < durable {
			t.Fatalf("round %d: epoch %d, horizon %d after epoch %d, horizon %d", round, gotEpoch, horizon, epoch, durable)
		}
		for range rand.N(10) {
			c.line(t)
		}
		time.Sleep(rand.N(3 * time.Millisecond)) // any instant will do
		if err := c.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for _, line := range c.rest() {
			var e, h int64
			if n, _ := fmt.Sscanf(line, "durable %d %d", &e, &h); n == 2 {
				durable = h
			}
		}
		epoch = gotEpoch
		c.kill()
	}
	if g := acquire(t, newFile(t, dir), fileRequest(1, 0)); g.Horizon < durable || durable == 0 {
		t.Errorf("horizon %d, told durable: %d", g.Horizon, durable)
	}
	t.Logf("%d kills, horizon %d", rounds, durable)
}

func TestAnInheritedLockDoesNotOutliveItsOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFile(t, dir)
	acquire(t, f, fileRequest(1, 0))
	sleeper := osexec.Command("sleep", "30") // would hold the lock if it got the open file
	if err := sleeper.Start(); err != nil {
		t.Skipf("no program to start: %v", err)
	}
	t.Cleanup(func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if g := acquire(t, newFile(t, dir), fileRequest(2, 0)); g.Epoch != 2 {
		t.Errorf("got %+v", g)
	}
}
