package lease_test

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// simStart is the time at which each schedule begins.
var simStart = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// simKind selects which schedules to make.
type simKind struct {
	forgets  bool                      // the store fails over to a replica, and clocks are right within the skew
	drill    *simDrill                 // the schedule begins with it
	unaware  bool                      // it does not find out that it has
	hasty    bool                      // a greater reach counts at once
	late     bool                      // what remains of a lease counts from the arrival of a call
	wrap     func(*simWorld, *altered) // breaks the store
	expiry   bool                      // the client's clock decides the expiry and what may be issued
	early    bool                      // processes give back before they freeze the generator
	copies   bool                      // processes are copied while they run
	goesOn   bool                      // processes that have lost their worker use the rest of the horizon
	unique   bool                      // only repeated IDs are checked
	readings int                       // of a clock in a call of the generator, which come to those that it makes
	breaks   string                    // the name of a rule of simSQL
}

// simPlan is what a schedule chooses at its beginning.
type simPlan struct {
	layout     snowflake.Layout
	workers    int64
	share      int64 // the first worker of the namespace's share
	hosts      int
	slots      int // for processes
	window     time.Duration
	other      time.Duration // the window of some processes
	delay      time.Duration // how long a replica may lag if the reach was raised meanwhile
	lead       time.Duration
	skew       time.Duration // that leases accept; 0: the default
	right      bool          // all clocks show true time
	stopOnLoss bool
	blind      bool   // the store does not return its time
	wild       bool   // the store's clock steps
	clocks     string // what makes clocks wrong if the store fails over, see simEvent; empty: nothing
	events     int
}

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

	memory   lease.Store
	backup   lease.Store   // a replica that gets nothing more
	cut      time.Time     // since then
	server   *simServer    // that is the replica
	store    *altered      // what all processes share: the memory, or after a failover the backup
	caller   *simProcess   // whose call the store is working on
	down     time.Time     // the end of its outage
	soon     bool          // failovers are not put off until clocks agree
	fellTo   time.Time     // when the store fell back to a replica the last time, by its clock
	shown    time.Time     // the latest time that a clock has shown that was set right
	ahead    time.Duration // how far a server's clock has been ahead of true time at most
	hastened time.Time     // when the clock of a server has stepped forward
	late     []func()      // requests that may still arrive
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
func runSim(kind simKind, seed uint64, script []byte) *simWorld {
	return runSchedule(kind, newSimChoices(seed, script))
}

// runDirected makes the directed schedule of the kind's drill.
func runDirected(kind simKind) *simWorld {
	choices := newSimChoices(0, nil)
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
	if kind.hasty {
		w.plan.delay = 0
	}
	w.memory = leasetest.NewMemory(w.newServer(simOffset).now)
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
		w.hosts = append(w.hosts, &simHost{wall: simStart.Add(right), right: right, mono: choices.span(time.Second, 1000*time.Hour)})
	}
	w.slots = make([]*simProcess, plan.slots)
	w.note(nil, "%+v", w.plan)
	return w
}

var simLayouts = func() []snowflake.Layout {
	epoch := simStart.AddDate(-3, 0, 0)
	field := func(name string, bits int) snowflake.Field { return snowflake.Field{Name: name, Bits: bits} }
	return []snowflake.Layout{
		snowflake.Default(),
		snowflake.MustLayout(epoch, time.Millisecond, field("time", 41), field("worker", 4), field("sequence", 2)),
		snowflake.MustLayout(epoch, 10*time.Millisecond, field("time", 39), field("sequence", 1), field("worker", 16)),
		snowflake.MustLayout(epoch, time.Second, field("worker", 3), field("time", 32), field("sequence", 3)),
		snowflake.MustLayout(epoch, time.Millisecond, field("sequence", 1), field("worker", 2), field("time", 42)),
	}
}()

func newSimPlan(kind simKind, c *simChoices) simPlan {
	plan := simPlan{
		layout:  pick(c, simLayouts...),
		workers: int64(1 + c.below(3)),
		hosts:   1 + c.below(3),
		slots:   2 + c.below(3),
		window:  pick(c, time.Second, 10*time.Millisecond, 50*time.Millisecond, 10*time.Second, 5*time.Minute),
		lead:    pick(c, 10*time.Millisecond, 0, 3*time.Millisecond, time.Second, snowflake.MaxLead),
		events:  100 + c.below(150),
	}
	plan.stopOnLoss = c.oneIn(8)
	plan.other, plan.delay = plan.window, pick(c, 4*plan.window, 64*plan.window, time.Hour)
	if kind.forgets {
		plan.skew = pick(c, time.Millisecond, lease.DefaultMaxSkew, plan.window)
		plan.other = pick(c, plan.window, max(plan.window/4, 10*time.Millisecond), min(8*plan.window, lease.MaxWindow))
		plan.clocks = pick(c, "", simSteps, simSuspends, simDrifts)
	}
	switch {
	case kind.forgets:
		plan.share = pick(c, 0, 0, int64(c.below(int(plan.workers))))
	default:
		plan.blind = c.oneIn(8)
		plan.wild = c.oneIn(8)
	}
	if kind.drill != nil {
		plan.planDrill(kind.drill, c)
	}
	return plan
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
