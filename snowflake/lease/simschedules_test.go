package lease_test

import (
	"os"
	"strconv"
	"testing"
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

// TestNoScheduleRepeatsAnID makes thousands of random schedules: whatever clocks, pauses, crashes and networks do, no ID
// is issued twice, and when all faults are corrected every process issues again.
func TestNoScheduleRepeatsAnID(t *testing.T) {
	mustHold(t, simKind{}, 8000, simUsual...)
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
