package lease_test

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// simCount is something that a schedule counts. Each must happen in a thousand schedules, or the simulator tests less
// than it should.
type simCount int

const (
	simIDs          simCount = iota // IDs issued
	simZombieIDs                    // IDs issued after another process took the worker over
	simCalls                        // calls of a generator
	simStalls                       // calls that reached the horizon
	simRefusedWait                  // calls that ended in a wait
	simSlept                        // waits during which time passed
	simPausedCalls                  // calls that returned only after a pause of their process
	simDeadCalls                    // calls that did not return before their process died
	simSteps                        // steps of the protocol
	simStepsInCalls                 // of them, during a call of the same generator
	simCallsInSteps                 // calls during a step
	simAcquired                     // workers taken
	simTakeovers                    // of them, from an owner that did not give it back
	simLost                         // losses noticed
	simStopped                      // processes that stopped at a loss
	simFull                         // requests refused since all workers are held
	simCrashes                      // processes that died
	simClosed                       // processes that gave their worker back
	simLowered                      // horizons lowered by it
	simRestarts                     // processes started after one before
	simBadSkew                      // starts refused because of the skew
	simBehind                       // starts refused because of the horizon
	simGivenUp                      // starts given up since the store did not answer
	simPauses                       // processes paused
	simBack                         // wall clocks stepped back
	simForward                      // wall clocks stepped forward
	simLeaps                        // seconds repeated
	simDrifts                       // clocks made faster or slower
	simSuspends                     // hosts put to sleep
	simStoreSteps                   // steps of the store's clock
	simOutages                      // of the store
	simLostAcquires                 // lost replies of Acquire
	simLostExtends                  // lost replies of Extend
	simLostReleases                 // lost replies of Release
	simDropped                      // requests that never arrived
	simLate                         // requests that arrived after their caller gave up
	simHeals                        // schedules after which everybody could issue again
	simFailovers                    // of a store that forgets; they have schedules of their own
	simCopies                       // processes copied; in schedules of their own
	simRepeats                      // IDs that a copy has issued again
	simCounts
)

var simNames = [simCounts]string{
	"IDs", "IDs after a takeover", "calls", "stalls", "refused waits", "sleeps", "paused calls", "dead calls",
	"steps", "steps in calls", "calls in steps", "acquired", "takeovers", "losses", "stopped", "full", "crashes",
	"closed", "lowered", "restarts", "bad skew", "behind horizon", "given up", "pauses", "steps back", "steps forward", "leap seconds",
	"drifts", "suspends", "store clock steps", "outages", "lost acquire replies", "lost extend replies",
	"lost release replies", "dropped", "late", "heals", "failovers", "copies", "repeats",
}

type simTally [simCounts]int

func (t *simTally) add(other *simTally) {
	for i, n := range other {
		t[i] += n
	}
}

func (t *simTally) String() string {
	parts := make([]string, 0, len(t))
	for i, n := range t {
		parts = append(parts, fmt.Sprintf("%s %d", simNames[i], n))
	}
	return strings.Join(parts, ", ")
}

// simTrace keeps the last events.
type simTrace struct {
	lines   [80]simLine
	length  int
	digest  uint64 // of all lines, if wanted
	digests bool
}

// simLine is formatted only when it is printed.
type simLine struct {
	at     time.Duration
	depth  int
	who    string
	format string
	args   []any
}

func (l simLine) String() string {
	return fmt.Sprintf("%14v %s%s %s", l.at, strings.Repeat("    ", l.depth), l.who, fmt.Sprintf(l.format, l.args...))
}

// note adds a line to the trace, about a process or the world (nil).
func (w *simWorld) note(p *simProcess, format string, args ...any) {
	who := "*"
	if p != nil {
		who = p.name
	}
	line := simLine{w.now.Sub(simStart), w.depth, who, format, args}
	t := &w.trace
	t.lines[t.length%len(t.lines)] = line
	t.length++
	if t.digests {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %v", t.digest, line)
		t.digest = h.Sum64()
	}
}

func (t *simTrace) String() string {
	var b strings.Builder
	for i := max(0, t.length-len(t.lines)); i < t.length; i++ {
		fmt.Fprintf(&b, "%5d %v\n", i, t.lines[i%len(t.lines)])
	}
	return b.String()
}
