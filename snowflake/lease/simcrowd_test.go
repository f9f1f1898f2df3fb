package lease_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// TestTheLastOf1025AskersWaitsForOneOf1024Workers lets 1,025 processes ask for the workers of the Default layout. The
// last one gets none until another one is given back, which it can use at once, or until the owner of another one has
// died, whose horizon it then waits for.
func TestTheLastOf1025AskersWaitsForOneOf1024Workers(t *testing.T) {
	const workers = 1024
	for _, leave := range []struct {
		name string
		end  func(*simProcess)
		wait time.Duration
	}{
		{"closes", (*simProcess).close, 0},
		{"crashes", (*simProcess).crash, 2 * lease.DefaultWindow},
	} {
		t.Run(leave.name, func(t *testing.T) {
			w := newSimCase(t, workers)
			w.kind.unique = true                   // checking 1,024 rows after each call would take long
			w.choices.script = make([]byte, 1<<16) // no other events
			var crowd []*simProcess
			for range workers + 1 {
				p := w.start(w.hosts[0])
				p.step()
				crowd = append(crowd, p)
			}
			last := crowd[workers]
			if last.opened || w.tally[simFull] != 1 || w.tally[simAcquired] != workers {
				t.Fatalf("%d workers were taken, the last process has one: %v", w.tally[simAcquired], last.opened)
			}
			for _, p := range crowd[:workers] {
				if id, err := p.gen.Next(); err != nil {
					t.Fatalf("%s: %v", p.name, err)
				} else {
					w.issue(p, []snowflake.ID{id}, -1, nil)
				}
			}
			leave.end(crowd[500])
			for range 4 {
				w.advance(leave.wait / 4)
				for i, p := range crowd[:workers] {
					if i != 500 {
						p.step()
					}
				}
			}
			last.step()
			id, err := last.gen.Next()
			if leave.wait == 0 && err != nil {
				t.Fatalf("the first ID after a clean end: %v", err)
			}
			for errors.Is(err, errSimWait) || errors.Is(err, snowflake.ErrLeaseStalled) { // the old horizon is ahead
				w.advance(lease.DefaultWindow / 4)
				last.step()
				id, err = last.gen.Next()
			}
			if err != nil || w.tally[simAcquired] != workers+1 || last.gen.Worker() != crowd[500].gen.Worker() {
				t.Fatalf("%v, the last process has worker %d", err, last.gen.Worker())
			}
			w.issue(last, []snowflake.ID{id}, -1, nil)
			if w.violation != "" || len(w.ledger.issued) != workers+1 {
				t.Errorf("%d IDs", len(w.ledger.issued))
			}
		})
	}
}
