package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// simStart is the time at which each schedule begins.
var simStart = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// simWorld is a schedule: hosts and their clocks, the store and its clock, and the processes. It has no goroutines and
// no real time.
type simWorld struct {
	kind    simKind
	plan    simPlan
	choices *simChoices
	options []lease.Option

	now      time.Time // true time
	storeNow time.Time
	hosts    []*simHost
	slots    []*simProcess // the process that runs at each place, or did
	started  int

	layout   snowflake.Layout // of processes that start
	moves    int              // to another layout
	begins   int64            // the first tick after the last of them
	moved    int64            // no process with another layout may issue from then on; 0: the store has forgotten that
	memory   leasestore.Store
	backup   leasestore.Store // a replica that gets nothing more
	cut      time.Time        // since then
	server   *simServer       // that is the replica
	store    *altered         // what all processes share: the memory, or after a failover the backup
	caller   *simProcess      // whose call the store is working on
	down     time.Time        // the end of its outage
	soon     bool             // failovers are not put off until clocks agree
	fellTo   time.Time        // when the store fell back to a replica the last time, by its clock
	shown    time.Time        // the latest time that a clock has shown that was set right
	ahead    time.Duration    // how far a server's clock has been ahead of true time at most
	hastened time.Time        // when the clock of a server has stepped forward
	late     []func()         // requests that may still arrive
	ledger   simLedger

	events    int
	depth     int
	meanwhile []func() // what happens at the next points at which other events may happen; nil: nothing
	drilling  bool
	healing   bool
	tally     simTally
	trace     simTrace
	violation string
}

// runSim makes a random schedule and returns it with the first violation.
func runSim(kind simKind, seed uint64) *simWorld {
	return runSchedule(kind, newSimChoices(seed))
}

// runDirected makes the directed schedule of the kind's drill.
func runDirected(kind simKind) *simWorld {
	choices := newSimChoices(0)
	choices.calm = true
	return runSchedule(kind, choices)
}

func runSchedule(kind simKind, choices *simChoices) *simWorld {
	w := newSimWorld(kind, newSimPlan(kind, choices), choices)
	if kind.drill != nil {
		w.drilling = true
		kind.drill.do(w)
		w.drilling = false
	}

	for !w.over() {
		w.choices.begin()
		w.event()
	}

	if w.violation == "" && !kind.unique && !kind.unaware {
		w.heal()
	}
	return w
}

func newSimWorld(kind simKind, plan simPlan, choices *simChoices) *simWorld {
	w := &simWorld{kind: kind, plan: plan, choices: choices, now: simStart, storeNow: simStart, tally: simTally{}}
	w.layout = w.plan.layout
	if kind.hasty {
		w.plan.delay = 0
	}

	w.memory = lease.NewMemory(w.newServer(simOffset).now)
	if kind.forgets {
		w.memory = newSimSQL(w)
	}
	w.store = &altered{Store: w.memory}
	if kind.wrap != nil {
		kind.wrap(w, w.store)
	}

	w.ledger = newSimLedger()
	w.options = []lease.Option{
		lease.WithGenerator(snowflake.WithLayout(w.plan.layout), snowflake.WithLead(w.plan.lead)),
		lease.WithWorkers(0, w.plan.workers-1), lease.WithPatience(0),
		lease.WithLogger(slog.New(slog.DiscardHandler)),
	}
	if w.plan.skew > 0 {
		w.options = append(w.options, lease.WithMaxSkew(w.plan.skew))
	}
	if w.plan.stopOnLoss {
		w.options = append(w.options, lease.WithStopOnLoss())
	}

	for range plan.hosts {
		right := w.offset(simOffset)
		up := choices.span(time.Second, 1000*time.Hour)
		w.hosts = append(w.hosts, &simHost{wall: simStart.Add(right), right: right, mono: up})
	}

	w.slots = make([]*simProcess, plan.slots)
	w.note(nil, "%+v", w.plan)
	return w
}

func (w *simWorld) newServer(usual int) *simServer {
	s := &simServer{w: w, right: w.offset(usual)}
	w.ahead = max(w.ahead, s.right)
	return s
}

// Clocks that agree within the accepted skew are at most so many of its parts from true time.
const (
	simOffset = 99
	simParts  = 2*simOffset + 2
)

// offset returns how far a clock is from true time that agrees with others within the accepted skew, often as far as it
// can be.
func (w *simWorld) offset(usual int) time.Duration {
	if w.plan.right {
		return 0
	}
	parts := pick(w.choices, usual, w.choices.below(2*simOffset+1)-simOffset, -usual)
	return min(w.plan.skew, lease.DefaultMaxSkew) / simParts * time.Duration(parts)
}

// over reports whether the schedule has ended.
func (w *simWorld) over() bool {
	return w.violation != "" || !w.healing && !w.drilling && w.events >= w.plan.events
}

// fail records a violation, unless only repeated IDs count.
func (w *simWorld) fail(p *simProcess, format string, args ...any) {
	if !w.kind.unique {
		w.violate(p, format, args...)
	}
}

func (w *simWorld) violate(p *simProcess, format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
		w.note(p, "VIOLATION: %s", w.violation)
	}
}

// tick returns the tick of a time.
func (w *simWorld) tick(t time.Time) int64 {
	return int64(t.Sub(w.plan.layout.Epoch()) / w.plan.layout.Tick())
}

// ticks returns how many ticks d has, rounded up.
func (w *simWorld) ticks(d time.Duration) int64 {
	return int64((d + w.plan.layout.Tick() - 1) / w.plan.layout.Tick())
}

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

// simHost has the clocks of a host. Several processes may run on it.
type simHost struct {
	wall  time.Time
	right time.Duration // how far it is from true time when it is right
	mono  time.Duration
	rate  int64 // of both clocks, in millionths above that of true time
}

func (h *simHost) advance(d time.Duration) {
	d += time.Duration(int64(d) / 1_000_000 * h.rate)
	h.wall = h.wall.Add(d)
	h.mono += d
}

// simServer has the clock of a server of the store.
type simServer struct {
	w            *simWorld
	right, wrong time.Duration // how far it is from true time, and from that when it is right
}

func (s *simServer) now() time.Time {
	if s.w.kind.expiry && s.w.caller != nil {
		return s.w.caller.host.wall
	}
	return s.w.storeNow.Add(s.right + s.wrong)
}

// step makes the clock wrong, or right: 0.
func (s *simServer) step(wrong time.Duration) {
	s.w.shown = later(s.w.shown, s.now())
	if wrong > s.wrong {
		s.w.hastened = s.w.now
	}
	s.wrong = wrong
	s.w.ahead = max(s.w.ahead, s.right+s.wrong)
}

// setRight is what a time server does.
func (w *simWorld) setRight(h *simHost) {
	w.shown = later(w.shown, h.wall)
	h.wall, h.rate = w.now.Add(h.right), 0
}

// agree sets all clocks right, and reports whether a failover to a server with the clock now repeats no ID.
func (w *simWorld) agree(now func() time.Time) bool {
	for _, h := range w.hosts {
		w.setRight(h)
	}
	w.memory.(*simSQL).server.step(0)
	skew := min(w.plan.skew, lease.DefaultMaxSkew)
	if w.plan.clocks == "" {
		return true
	}

	noneAhead := !w.shown.After(now().Add(skew))
	return noneAhead && w.now.Sub(w.hastened) > 2*max(w.plan.window, w.plan.other)
}

// advance lets time pass for all clocks.
func (w *simWorld) advance(d time.Duration) {
	w.now = w.now.Add(d)
	w.storeNow = w.storeNow.Add(d)
	for _, h := range w.hosts {
		h.advance(d)
	}
}

// suspend lets time pass while a host sleeps and its monotonic clock stands still.
func (w *simWorld) suspend(h *simHost, d time.Duration) {
	mono := h.mono
	w.advance(d)
	h.mono = mono
}

// simClock is the clock of a process. It never waits: either the simulated time passes, or the caller gets an error.
type simClock struct{ p *simProcess }

var _ snowflake.Clock = simClock{}

var errSimWait = errors.New("the simulator does not wait")

func (c simClock) Now() time.Time { return c.p.host.wall }

// Elapsed is called by every call of the generator, also between the draw of an ID that is not due yet and its return.
// So other events happen here.
func (c simClock) Elapsed() time.Duration {
	if c.p.calling() {
		for range 1 + c.p.w.kind.readings {
			c.p.w.interleave(20)
		}
	}
	return c.p.host.mono
}

func (c simClock) Sleep(_ context.Context, d time.Duration) error {
	w := c.p.w
	if d <= 0 || w.healing || w.choices.oneIn(2) {
		if c.p.calling() {
			w.interleave(4) // after the draw, before it is given back
		}
		w.tally["refused waits"]++
		return errSimWait
	}

	w.tally["sleeps"]++
	w.note(c.p, "sleeps for %v", d)
	w.advance(d + time.Microsecond)
	if c.p.calling() {
		w.interleave(4)
	}
	return nil
}

// simDeepest is how many events are within each other at most.
const simDeepest = 3

// interleave lets another event happen, once in n times.
func (w *simWorld) interleave(n int) {
	if len(w.meanwhile) > 0 {
		do := w.meanwhile[0]
		w.meanwhile = w.meanwhile[1:]
		if do != nil {
			w.depth++
			do()
			w.depth--
		}
		return
	}
	if w.depth >= simDeepest || w.over() {
		return
	}

	w.depth++
	for range w.choices.interruptions(n) {
		end := w.choices.nest()
		w.event()
		end()
	}
	w.depth--
}
