package simulator

import "testing"

// TestAStoreThatForgetsIsOutsideThePromise shows what is not promised: with a store that falls back to a copy without
// its last commits, as asynchronous replicas do, IDs repeat even if all clocks are right.
func TestAStoreThatForgetsIsOutsideThePromise(t *testing.T) {
	mustCatch(t, simKind{forgets: true, unique: true}, 2000)
}

// TestAGuardOfAWindowAnswersAStoreThatForgets shows the effect of a guard: if owners start above all that a lost
// horizon can have been, those whose lease has expired must acquire again, and clocks are right, no ID is issued twice.
func TestAGuardOfAWindowAnswersAStoreThatForgets(t *testing.T) {
	var total simTally
	for seed := range uint64(schedules(2000)) {
		w := runSim(simKind{forgets: true, guard: true}, seed, nil)
		if w.violation != "" {
			report(t, w, seed)
		}
		total.add(&w.tally)
	}
	t.Logf("%v", &total)
	if total[simFailovers] == 0 || total[simTakeovers] == 0 || total[simIDs] == 0 {
		t.Error("nothing was forgotten")
	}
}
