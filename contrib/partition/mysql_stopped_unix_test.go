//go:build unix

package partition_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/sqlflake/sqlflake/contrib/partition"
)

// A process that is stopped while it holds the locks of a step stops no writer for long. The next call repeats the step,
// and the stopped one does no harm when it continues.
func TestMySQLStoppedProcessStopsNoWriters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ mode, stop string }{{"drop", "DROP"}, {"keep", "EXCHANGE"}, {"keep", "DROP"}} {
		t.Run(c.mode+" "+c.stop, func(t *testing.T) {
			e := filledMariaDB(t)
			p := startProcess(t, job{Target: e.target, Mode: c.mode, Retain: 9, Ahead: 3, Stop: c.stop + " PARTITION `" + dayName(-10)})
			if got := p.line(); got != "holds" {
				t.Fatalf("the process says %q", got)
			}
			e.must(p.cmd.Process.Signal(syscall.SIGSTOP))
			if _, err := e.ExecContext(e.limit(), "INSERT INTO events VALUES (?, 'new')", idAt(day(0))+1); err != nil {
				t.Fatalf("the insert beside it: %v", err)
			}
			options := []partition.Option{partition.WithRetain(9)}
			if c.mode == "keep" {
				options = append(options, partition.WithKeep())
			}
			e.maintain(e.set(options...))
			e.must(p.cmd.Process.Signal(syscall.SIGCONT))
			_ = p.stdin.Close()
			if got := p.line(); !strings.HasPrefix(got, "error") {
				t.Errorf("the process says %q, want that it has lost its connection", got)
			}
			_ = p.cmd.Wait() // the line says how it ended
			e.want(-9, 3)
			e.rows("events", 10*4+1)
			if c.mode == "keep" {
				e.kept()
			}
		})
	}
}
