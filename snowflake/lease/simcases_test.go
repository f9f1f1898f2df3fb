package lease_test

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// newSimCase returns a world without events, with the Default layout, the default window and lead, and two hosts.
func newSimCase(tb testing.TB, kind simKind, workers int64) *simWorld {
	tb.Helper()
	plan := simPlan{
		layout: snowflake.Default(), workers: workers, hosts: 2, slots: 2,
		window: lease.DefaultWindow, other: lease.DefaultWindow, lead: 10 * time.Millisecond,
	}
	w := newSimWorld(kind, plan, newSimChoices(1, nil))
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("%s\n%s", w.violation, &w.trace)
		}
	})
	return w
}

func TestQuickRestartsDoNotMoveTheHorizonFurtherAhead(t *testing.T) {
	w := newSimCase(t, simKind{}, 1)
	for i := range 10 {
		p := w.start(w.hosts[0], w.plan.window)
		p.step()
		if !p.opened {
			t.Fatalf("start %d was refused", i+1)
		}
		if i%2 == 0 {
			p.close()
			continue
		}
		p.crash()
		w.advance(2 * w.plan.window)
	}
	limit := w.tick(w.now) + w.ticks(w.plan.window+w.plan.lead)
	if horizon := w.ledger.rows[0].horizon; horizon > limit {
		t.Errorf("the horizon is %d, more than a window and the lead ahead: %d", horizon, limit)
	}
}
