//go:build unix

package processtest

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// TestProcessesThatAreAskedToEndAreReplacedAtOnce starts one process after the other for the only worker, with the
// longest window, and ends each with SIGTERM while it issues, as a supervisor does. If one did not lower its horizon,
// the next one would have its first ID ten minutes later, and the test would fail.
func TestProcessesThatAreAskedToEndAreReplacedAtOnce(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) {
		store := p.store(t)
		o := Order{Place: p.String(), First: 5, Last: 5, Window: lease.MaxWindow}
		rounds := Scale(8, 40)
		var processes []*Process
		for round := range rounds {
			q := MustStart(t, o)
			processes = append(processes, q)
			if err := q.AwaitID(); err != nil {
				t.Fatalf("round %d: %v", round+1, err)
			}
			time.Sleep(rand.N(30 * time.Millisecond))
			if err := q.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatalf("round %d: %v", round+1, err)
			}
			if code := q.ExitCode(); code != ExitDone {
				t.Fatalf("round %d: ended with %d: %s", round+1, code, q)
			}
		}
		c := TakeCensus(processes)
		c.Check(t, store)
		if c.Takeovers != rounds-1 || c.Notes[lease.Released] != rounds {
			t.Errorf("%d takeovers, notes %v", c.Takeovers, c.Notes)
		}
		last := tickOf(processes[rounds-1].ids.last)
		if row := Entries(t, store)[5]; row.Held || row.Horizon-last > 45 { // the lead, and a handful drawn for nothing
			t.Errorf("the last tick is %d, the row %+v", last, row)
		}
	})
}
