package lease_test

import (
	"fmt"
	"strings"
	"time"
)

// simTally counts what happens in schedules.
type simTally map[string]int

// simUsual must happen in a thousand schedules, or the simulator tests less than it should.
var simUsual = []string{
	"IDs", "IDs after a takeover", "calls", "stalls", "refused waits", "sleeps", "paused calls", "dead calls",
	"steps", "steps in calls", "calls in steps", "acquired", "takeovers", "losses", "stopped", "full", "crashes",
	"closed", "lowered", "restarts", "bad skew", "behind horizon", "given up", "pauses", "steps back",
	"steps forward", "leap seconds", "drifts", "suspends", "store clock steps", "outages", "lost acquire replies",
	"lost extend replies", "lost release replies", "dropped", "late", "heals",
}

func (t simTally) add(other simTally) {
	for what, n := range other {
		t[what] += n
	}
}

// simTrace keeps the last events.
type simTrace struct {
	lines  [80]simLine
	length int
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
	w.trace.lines[w.trace.length%len(w.trace.lines)] = line
	w.trace.length++
}

func (t *simTrace) String() string {
	var b strings.Builder
	for i := max(0, t.length-len(t.lines)); i < t.length; i++ {
		fmt.Fprintf(&b, "%5d %v\n", i, t.lines[i%len(t.lines)])
	}
	return b.String()
}
