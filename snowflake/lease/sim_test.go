package lease_test

import (
	"math/bits"
	"math/rand/v2"
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
		w := runSim(kind, seed)
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
		plan.share = pick(c, 0, 0, int64(c.below(int(plan.workers))))
	} else {
		plan.blind = c.oneIn(8)
		plan.wild = c.oneIn(8)
	}

	if kind.drill != nil {
		plan.planDrill(kind.drill, c)
	}
	return plan
}

// planDrill changes the plan of a random schedule.
func (plan *simPlan) planDrill(drill *simDrill, c *simChoices) {
	plan.workers, plan.hosts, plan.slots = 1, 4, 4
	plan.events = c.below(40) // after the drill
	plan.stopOnLoss, plan.blind, plan.wild, plan.clocks = false, false, false, ""

	plan.window = pick(c, time.Second, 2*time.Second, 10*time.Second)
	plan.other, plan.share = plan.window, 0
	plan.lead = pick(c, 10*time.Millisecond, 0, time.Second)
	if drill.sql {
		plan.skew = pick(c, lease.DefaultMaxSkew, time.Second, time.Millisecond)
	}
	if drill.plan != nil {
		drill.plan(plan, c)
	}
}

// simChoices makes all decisions of a schedule. Each event has sources of its own, which depend on the seed and on the
// number of the event only: one for what it does, and one for whether others interrupt it. So one more decision in an
// event, such as one more reading of a clock, moves no decision of another event.
type simChoices struct {
	seed uint64
	calm bool // always the first: a directed schedule, in which nothing happens by chance

	events uint64
	simDecisions
}

// simDecisions belong to an event.
type simDecisions struct {
	key        uint64 // of the event
	nested     uint64 // events that have interrupted it
	does       rand.PCG
	interrupts rand.PCG
}

func newSimChoices(seed uint64) *simChoices {
	c := &simChoices{seed: seed}
	c.begin()
	return c
}

// begin begins the next event.
func (c *simChoices) begin() {
	c.events++
	c.of(mixed(c.seed ^ mixed(c.events)))
}

// nest begins an event within an event, and returns what ends it.
func (c *simChoices) nest() (end func()) {
	c.nested++
	outer := c.simDecisions
	c.of(mixed(outer.key ^ mixed(outer.nested)))
	return func() { c.simDecisions = outer }
}

func (c *simChoices) of(key uint64) {
	c.simDecisions = simDecisions{key: key}
	c.does.Seed(key, 1)
	c.interrupts.Seed(key, 2)
}

// mixed spreads the bits of x (SplitMix64).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below returns a number in [0, n).
func (c *simChoices) below(n int) int {
	if c.calm {
		return 0
	}
	return scaled(c.does.Uint64(), n)
}

// scaled makes a number in [0, n) of a random one.
func scaled(random uint64, n int) int { return int(random >> 33 * uint64(n) >> 31) }

// oneIn is true once in n times, and never in a directed schedule.
func (c *simChoices) oneIn(n int) bool { return c.below(n) == n-1 && n > 1 }

// interruptions returns how many events interrupt this one: one to three once in n times, none in a directed schedule.
// It takes nothing from what the event itself does.
func (c *simChoices) interruptions(n int) int {
	if c.calm || scaled(c.interrupts.Uint64(), n) > 0 {
		return 0
	}
	return 1 + scaled(c.interrupts.Uint64(), 3)
}

// span returns a duration in [least, most), short ones as often as ones that are twice as long.
func (c *simChoices) span(least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	doublings := bits.Len64(uint64(most / least))
	d := least << c.below(doublings)
	return min(d+d/16*time.Duration(c.below(16)), most-1)
}

// jitter returns d, plus or minus a tenth.
func (c *simChoices) jitter(d time.Duration) time.Duration {
	return d*9/10 + d/80*time.Duration(c.below(17))
}

// pick returns one of the values, in a directed schedule the first.
func pick[T any](c *simChoices, from ...T) T { return from[c.below(len(from))] }
