//go:build unix

package processtest_test

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// TestProcessesThatAreAskedToEndAreReplacedAtOnce starts one process after the other
// for the only worker, with the longest window, and ends each with SIGTERM while
// it issues, as a supervisor does. If one of them left its horizon as it was, the
// next would have its first ID ten minutes later, and the test would give up.
func TestProcessesThatAreAskedToEndAreReplacedAtOnce(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) {
		store := p.store(t)
		o := order{Place: p, First: 5, Last: 5, Window: lease.MaxWindow}
		rounds := scale(8, 40)
		var processes []*process
		for round := range rounds {
			q := mustStart(t, o)
			processes = append(processes, q)
			if err := firstID(q); err != nil {
				t.Fatalf("round %d: %v", round+1, err)
			}
			time.Sleep(rand.N(30 * time.Millisecond))
			if err := q.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatalf("round %d: %v", round+1, err)
			}
			<-q.ended
			if code := q.cmd.ProcessState.ExitCode(); code != exitDone {
				t.Fatalf("round %d: ended with %d: %s", round+1, code, q)
			}
		}
		c := takeCensus(processes)
		rows := entries(t, store)
		c.check(t, rows)
		if c.takeovers != rounds-1 || c.notes[string(lease.Released)] != rounds {
			t.Errorf("%d takeovers, notes %v", c.takeovers, c.notes)
		}
		last := tickOf(processes[rounds-1].ids.last)
		if row := rows[5]; row.Held || row.Horizon-last > 45 { // the lead, and a handful drawn for nothing
			t.Errorf("the last tick is %d, the row %+v", last, row)
		}
	})
}
