// Package processtest starts processes that issue IDs under a lease, and checks that no ID is issued twice. The
// processes are the test binary, started again with an Order: see Main.
package processtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Patience is how long a test waits for an event. It is no promise: the machine may be busy, the race detector may be
// on.
const Patience = 3 * time.Minute

// poll is how long a test waits before it looks again.
const poll = 2 * time.Millisecond

// Scale returns how often something is done: atLength with SNOWFLAKE_TEST_LONG in the environment.
func Scale(usually, atLength int) int {
	if os.Getenv("SNOWFLAKE_TEST_LONG") != "" {
		return atLength
	}
	return usually
}

// Eventually waits until the condition holds, and shows the processes if it never does.
func Eventually(tb testing.TB, what string, condition func() bool, processes ...*Process) {
	tb.Helper()
	if !await(condition) {
		tb.Fatalf("%s: not after %v; %v", what, Patience, processes)
	}
}

// await waits until the condition holds, and returns false if it never does.
func await(condition func() bool) bool {
	for begin := time.Now(); !condition(); time.Sleep(poll) {
		if time.Since(begin) > Patience {
			return false
		}
	}
	return true
}

// must ends the test on an error.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Process is an issuer that was started.
type Process struct {
	Ended chan struct{} // closed when all that it has written was read, and it was waited for

	cmd   *exec.Cmd
	stdin io.WriteCloser

	mu    sync.Mutex
	ids   record
	notes []Note
	line  []byte // of the standard error, as far as it has come
	err   error  // of reading that
}

// Start starts an issuer. It is killed at the end of the test at the latest.
func Start(t *testing.T, o Order) (*Process, error) {
	// Without t.Context(), whose end would look like one of the kills.
	p := &Process{cmd: exec.Command(os.Args[0]), Ended: make(chan struct{})}
	order, _ := json.Marshal(o) // numbers, texts and a time never fail
	p.cmd.Env = append(os.Environ(), orderVariable+"="+string(order), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stdout, p.cmd.Stderr = reader(p.readIDs), reader(p.readNotes)
	p.stdin, _ = p.cmd.StdinPipe() // without a pipe Start fails, too
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}

	go func() {
		_ = p.cmd.Wait() // tests read the exit code
		close(p.Ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // most have ended
		<-p.Ended
	})
	return p, nil
}

// MustStart is Start that ends the test on an error.
func MustStart(t *testing.T, o Order) *Process {
	t.Helper()
	p, err := Start(t, o)
	must(t, err)
	return p
}

// reader reads what a process writes.
type reader func(text []byte)

func (r reader) Write(text []byte) (int, error) {
	r(text)
	return len(text), nil
}

func (p *Process) readIDs(text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids.add(text)
}

func (p *Process) readNotes(text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line = append(p.line, text...)
	for {
		line, rest, isWhole := bytes.Cut(p.line, []byte("\n"))
		if !isWhole { // after a kill it never is
			return
		}
		p.line = rest

		var n Note
		if err := json.Unmarshal(line, &n); err == nil {
			p.notes = append(p.notes, n)
		} else if p.err == nil {
			p.err = fmt.Errorf("unexpected on the standard error: %s", line) // for example a panic
		}
	}
}

// Count returns how many IDs have come.
func (p *Process) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids.count
}

// Noted returns the notes of the kind.
func (p *Process) Noted(kind lease.EventKind) []Note {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.notes), func(n Note) bool { return n.Kind != kind })
}

// HasEnded reports whether Ended is closed.
func (p *Process) HasEnded() bool {
	select {
	case <-p.Ended:
		return true
	default:
		return false
	}
}

// Signal sends a signal.
func (p *Process) Signal(t *testing.T, s os.Signal) {
	t.Helper()
	must(t, p.cmd.Process.Signal(s))
}

// Kill is kill -9. It returns when the process has ended and its output was read.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill: %w: %s", err, p)
	}
	<-p.Ended
	return nil
}

// Finish asks the process to give its worker back and to end.
func (p *Process) Finish() error {
	_ = p.stdin.Close() // fails if it has ended already, which its exit code shows
	select {
	case <-p.Ended:
	case <-time.After(Patience):
		return fmt.Errorf("does not end: %s", p)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != exitDone {
		return fmt.Errorf("ended with %d: %s", code, p)
	}
	return nil
}

// AwaitID waits for the first ID.
func (p *Process) AwaitID() error {
	await(func() bool { return p.Count() > 0 || p.HasEnded() })
	if p.Count() == 0 {
		return fmt.Errorf("no ID: %s", p)
	}
	return nil
}

// FreePort returns a TCP port of 127.0.0.1 that nothing listens on, and no other caller gets until the test ends: the
// UDP port of the same number says that it is taken. The server of a Redis Cluster also uses the port 10000 higher,
// which FreePort never returns. All are below those that systems give to outgoing connections.
func FreePort(t *testing.T) int {
	t.Helper()
	for {
		port := 12000 + rand.IntN(10000)
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		mark, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}

		if listener, err := net.Listen("tcp", addr); err == nil {
			_ = listener.Close() // it has shown that the port is free
			t.Cleanup(func() { _ = mark.Close() })
			return port
		}
		_ = mark.Close()
	}
}

// String shows the last notes.
func (p *Process) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%d IDs, %v, notes %+v", p.ids.count, p.err, p.notes[max(0, len(p.notes)-5):])
}
