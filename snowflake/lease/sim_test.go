package lease_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// schedules returns how many to make: twenty times as many with SNOWFLAKE_TEST_LONG=1 in the environment.
func schedules(normal int) int {
	if os.Getenv("SNOWFLAKE_TEST_LONG") != "" {
		return 20 * normal
	}
	if raceEnabled || testing.Short() {
		return normal / 16
	}
	return normal
}

func report(t testing.TB, w *simWorld, seed uint64) {
	t.Helper()
	t.Fatalf("seed %d: %s\nthe last of %d lines:\n%s", seed, w.violation, w.trace.length, &w.trace)
}

// mustHold makes schedules, none of which may end in a violation, and in which all that is listed must happen.
// SNOWFLAKE_TEST_SEED makes the one of a seed, whatever happens in it.
func mustHold(t *testing.T, kind simKind, normal int, must ...string) {
	t.Helper()
	first, n, total := uint64(0), uint64(schedules(normal)), simTally{}
	if only, err := strconv.ParseUint(os.Getenv("SNOWFLAKE_TEST_SEED"), 10, 64); err == nil {
		first, n, must = only, 1, nil
	}

	for seed := first; seed < first+n; seed++ {
		w := runSim(kind, seed, nil)
		if w.violation != "" {
			report(t, w, seed)
		}
		total.add(w.tally)
	}

	t.Logf("%d schedules: %v", n, total)
	for _, what := range must {
		if total[what] == 0 {
			t.Errorf("of all schedules none had any of: %s", what)
		}
	}
}

// TestNoScheduleRepeatsAnID makes thousands of random schedules: whatever clocks, pauses, crashes and networks do, no
// ID is issued twice, and when all faults are corrected every process issues again.
func TestNoScheduleRepeatsAnID(t *testing.T) {
	mustHold(t, simKind{}, 8000, simUsual...)
}

// TestAStoreThatFindsOutThatItHasForgottenRepeatsNoID makes schedules in which replicas without the last commits are
// promoted. The clocks of hosts and servers differ by as much as leases accept, and so do the windows of processes.
func TestAStoreThatFindsOutThatItHasForgottenRepeatsNoID(t *testing.T) {
	mustHold(t, simKind{forgets: true}, 2000, "failovers", "takeovers", "IDs", "late statements")
}

// TestCopiesRepeatIDsOnlyUntilTheirNextExtension makes schedules in which processes are copied while they run.
func TestCopiesRepeatIDsOnlyUntilTheirNextExtension(t *testing.T) {
	mustHold(t, simKind{copies: true}, 4000, "copies", "repeats")
}

// TestDrillsRepeatNoID makes schedules that begin with each drill, while all rules hold.
func TestDrillsRepeatNoID(t *testing.T) {
	for _, drill := range simDrills {
		t.Run(drill.name, func(t *testing.T) { mustHold(t, drill.kind(), 200, "IDs") })
	}
}

func FuzzSchedule(f *testing.F) {
	f.Add(uint64(1), []byte(nil))
	f.Add(uint64(2), []byte("any bytes make a schedule"))
	f.Fuzz(func(t *testing.T, seed uint64, script []byte) {
		if w := runSim(simKind{}, seed, script); w.violation != "" {
			report(t, w, seed)
		}
	})
}

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
