package redislease_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// patience is how long a test waits for what has to come. It is no promise: the
// machine may be busy, the race detector may be on.
const patience = time.Minute

// scale returns how often something is done.
func scale(usually, atLength int) int {
	if os.Getenv("SNOWFLAKE_TEST_LONG") != "" {
		return atLength
	}
	return usually
}

// eventually waits until the condition holds, and shows the processes if it never does.
func eventually(tb testing.TB, what string, condition func() bool, processes ...*process) {
	tb.Helper()
	for begin := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			tb.Fatalf("%s: not after %v; %v", what, patience, processes)
		}
	}
}

// process is an issuer that was started: this test binary, with an order.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{} // all that it has written was read, and it was waited for

	mu    sync.Mutex
	ids   record
	notes []note
	err   error // of reading
}

// start starts an issuer. It is killed at the end of the test at the latest.
func start(t *testing.T, o order) (*process, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// Not t.Context(): its end must not be taken for one of the kills.
	p := &process{cmd: exec.Command(self), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), orderVariable+"="+string(text), "GORACE=atexit_sleep_ms=0")
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // most have ended
		<-p.ended
	})
	var readers sync.WaitGroup
	readers.Go(func() { p.readIDs(stdout) })
	readers.Go(func() { p.readNotes(stderr) })
	go func() {
		readers.Wait()
		_ = p.cmd.Wait() // the state says more
		close(p.ended)
	}()
	return p, nil
}

func mustStart(t *testing.T, o order) *process {
	t.Helper()
	p, err := start(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) readIDs(r io.Reader) {
	buffer := make([]byte, 1<<16)
	kept := 0 // bytes of an ID whose rest has not come yet; a kill may cut it off for ever
	for {
		n, err := r.Read(buffer[kept:])
		n += kept
		whole := n - n%idBytes
		p.mu.Lock()
		p.ids.add(buffer[:whole])
		p.mu.Unlock()
		kept = copy(buffer, buffer[whole:n])
		if err != nil {
			return
		}
	}
}

func (p *process) readNotes(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // a line without an end is one that was cut off
			return
		}
		var n note
		p.mu.Lock()
		if err := json.Unmarshal(line, &n); err == nil {
			p.notes = append(p.notes, n)
		} else if p.err == nil {
			p.err = fmt.Errorf("process %d says: %s", p.cmd.Process.Pid, line) // a panic, say
		}
		p.mu.Unlock()
	}
}

// count returns how many IDs have come.
func (p *process) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids.count
}

// noted returns the notes of the kind.
func (p *process) noted(kind lease.EventKind) []note {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.notes), func(n note) bool { return n.Kind != string(kind) })
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// kill is kill -9. It returns when the process is gone and all it wrote was read.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill: %w: %s", err, p)
	}
	<-p.ended
	return nil
}

// finish asks the process to give its worker back and to end.
func (p *process) finish() error {
	_ = p.stdin.Close() // fails if it has ended already, which its code tells
	select {
	case <-p.ended:
	case <-time.After(patience):
		return fmt.Errorf("does not end: %s", p)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("ended with %d: %s", code, p)
	}
	return nil
}

// String shows the end of the notes.
func (p *process) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("process %d, %d IDs, %v, notes %+v", p.cmd.Process.Pid, p.ids.count, p.err, p.notes[max(0, len(p.notes)-5):])
}
