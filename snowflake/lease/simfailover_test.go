package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// TestAStoreThatFindsOutThatItHasForgottenRepeatsNoID makes schedules in which replicas without the last commits are
// promoted. The clocks of hosts and servers differ by as much as leases accept, and so do the windows of processes.
func TestAStoreThatFindsOutThatItHasForgottenRepeatsNoID(t *testing.T) {
	for _, drills := range []bool{false, true} {
		mustHold(t, simKind{forgets: true, drills: drills}, 2000, "failovers", "takeovers", "IDs", "late statements")
	}
}

// lacking breaks the rule that a floor is above all that a forgotten owner can have been granted: it lacks a part.
func (s *altered) lacking(part time.Duration) {
	s.granting(func(_ lease.Request, g *lease.Grant) {
		if !g.Floor.IsZero() {
			g.Floor = g.Floor.Add(-part)
		}
	})
}

// simNoFloor breaks the rule that new owners start above a floor.
func simNoFloor(_ *simWorld, s *altered) {
	s.granting(func(_ lease.Request, g *lease.Grant) { g.Floor = time.Time{} })
}

// simFloorBefore breaks the rule that the floor is that of the server that lends the worker: a process uses the one that
// its call before has found.
func simFloorBefore(w *simWorld, s *altered) {
	floors := map[*simProcess]time.Time{}
	s.granting(func(_ lease.Request, g *lease.Grant) { g.Floor, floors[w.caller] = floors[w.caller], g.Floor })
}

// simTimed breaks the rule that an owner keeps its worker after a failover only if its lease can't have expired before:
// each owner believes that.
func simTimed(_ *simWorld, s *altered) {
	s.extending(func(c *lease.Claim) { *c = c.Lasting(time.Hour, time.Hour) })
}

// simComparesClocks breaks the same rule: the expiry by the clock of the old server is compared with the time of the
// failover by that of the new one, as if they were the same.
func simComparesClocks(w *simWorld, s *altered) {
	s.extending(func(c *lease.Claim) {
		entries, err := s.List(context.Background(), c.Namespace)
		if err != nil {
			w.fail(nil, "List: %v", err)
		}
		for _, e := range entries {
			if e.Worker == c.Worker && e.Expires.After(w.fellTo) {
				*c = c.Lasting(time.Hour, time.Hour)
			}
		}
	})
}

// simExpiredGoOn breaks it with a store below it that is unaware.
func simExpiredGoOn(w *simWorld, s *altered) {
	s.granting(func(r lease.Request, g *lease.Grant) {
		if !w.fellTo.IsZero() {
			g.Floor = w.fellTo.Add(r.Reach)
		}
	})
}

func TestTheSimulatorCatchesEveryBrokenRuleOfAFailover(t *testing.T) {
	for name, wrap := range map[string]func(w *simWorld, s *altered){
		"no floor":                          simNoFloor,
		"a floor without the window":        func(w *simWorld, s *altered) { s.lacking(w.plan.window) },
		"a floor without the lead":          func(w *simWorld, s *altered) { s.lacking(w.plan.lead) },
		"a floor without the skew":          func(w *simWorld, s *altered) { s.lacking(w.plan.skew) },
		"a floor from an earlier statement": simFloorBefore,
	} {
		t.Run(name, func(t *testing.T) {
			// Without the skew ticks may be issued twice, but hardly ever are.
			mustCatch(t, simKind{forgets: true, wrap: wrap, unique: name != "a floor without the skew"}, 4000)
		})
	}
	mustCatch(t, simKind{forgets: true, breaks: "share forgotten"}, 4000)
	for name, kind := range map[string]simKind{
		"clocks of two servers compared":  {wrap: simComparesClocks},
		"owners that don't time leases":   {wrap: simTimed},
		"leases timed from the arrival":   {late: true},
		"a greater window counts at once": {hasty: true},
		"horizons follow the generator":   {breaks: "horizons follow the generator"},
	} {
		t.Run(name, func(t *testing.T) {
			kind.forgets, kind.drills = true, true
			mustCatch(t, kind, 200)
		})
	}
}

// The first owner's lease lasts longer on the server that has died than the one that took its place knows. That one is
// replaced, too, before the first owner asks it, by one that does not know whom it has given the worker to.
func TestAServerGivesOutNoWorkerThatTheOneBeforeMayHaveConfirmed(t *testing.T) {
	for _, breaks := range []string{"", "rows before the floor"} {
		w := newSimCase(t, simKind{forgets: true, breaks: breaks}, 1)
		w.choices.script = make([]byte, 1<<16) // no other events
		window := w.plan.window
		first, second := w.start(w.hosts[0]), w.start(w.hosts[1])
		first.step()
		w.eventFailover() // the replica gets nothing more
		w.advance(window / 2)
		first.step()
		w.advance(window / 10)
		w.eventFailover() // and is promoted
		second.step()
		w.eventFailover()
		w.advance(window * 3 / 2) // the row has expired, the lease of its owner has not
		second.step()
		w.eventFailover()
		for range 10 {
			first.step()
			first.call()
			w.advance(window / 10)
		}
		if broken := breaks != ""; (w.violation != "") != broken || first.drawn == 0 && !broken {
			t.Errorf("%q: %d IDs; %s", breaks, first.drawn, w.violation)
		}
	}
}

// The clocks of all hosts and of the server were half a minute ahead. Since they were set right they have caught up with
// what an owner had issued until then, but its generator is still ahead. It takes another worker, which a replica with the
// right time does not know when it is promoted.
func TestAHorizonIsNoFurtherAheadThanAFloor(t *testing.T) {
	const ahead = 30 * time.Second
	for _, breaks := range []string{"", "horizons follow the generator"} {
		w := newSimCase(t, simKind{forgets: true, breaks: breaks}, 2)
		w.choices.script = make([]byte, 1<<16) // no other events
		w.plan.clocks = simSteps
		window := w.plan.window
		w.memory.(*simSQL).server.step(ahead)
		for _, h := range w.hosts {
			h.wall = h.wall.Add(ahead)
		}
		first := w.start(w.hosts[0])
		first.step()
		for !w.agree(w.newServer().now) {
			w.advance(window / 2)
			first.step()
			first.call()
		}
		w.eventFailover() // the replica gets nothing more
		w.advance(2*window + time.Second)
		w.start(w.hosts[1]).step()
		first.step() // learns that it has lost the worker
		for range 8 {
			first.step()
			first.call()
			w.advance(window / 8)
		}
		w.eventFailover() // and is promoted
		third := w.start(w.hosts[1])
		third.step()
		before := third.drawn
		for range 100 {
			w.advance(window / 16)
			third.step()
			third.call()
		}
		if broken := breaks != ""; (w.violation != "") != broken || third.drawn == before && !broken {
			t.Errorf("%q: %d IDs; %s", breaks, third.drawn-before, w.violation)
		}
	}
}

// As above, but the replica is promoted a few seconds after the clocks were set right. The row of another owner, which it
// has, shows that they were ahead.
func TestAFloorIsAboveHorizonsThatWereAheadOfAllClocks(t *testing.T) {
	const ahead = 30 * time.Second
	for _, breaks := range []string{"", "a floor by the clock alone"} {
		w := newSimCase(t, simKind{forgets: true, breaks: breaks}, 2)
		w.choices.script = make([]byte, 1<<16) // no other events
		w.memory.(*simSQL).server.step(ahead)
		for _, h := range w.hosts {
			h.wall = h.wall.Add(ahead)
		}
		w.start(w.hosts[0]).step()
		w.eventFailover() // the replica gets nothing more
		forgotten := w.start(w.hosts[1])
		forgotten.step()
		for range 8 {
			w.advance(time.Second / 2)
			forgotten.call()
			forgotten.step()
		}
		w.agree(w.server.now)
		w.advance(4 * time.Second)
		w.eventFailover() // and is promoted
		next := w.start(w.hosts[0])
		next.step()
		for range 120 {
			w.advance(time.Second / 2)
			next.step()
			next.call()
		}
		if broken := breaks != ""; (w.violation != "") != broken || forgotten.drawn == 0 || next.drawn == 0 && !broken {
			t.Errorf("%q: %d and %d IDs; %s", breaks, forgotten.drawn, next.drawn, w.violation)
		}
	}
}

// TestAnOwnerThatHadExpiredDoesNotGoOnAfterAFailover has two owners of a worker: one that has expired, and one that has
// taken the worker over, which the store has forgotten. Random schedules hardly ever have that.
func TestAnOwnerThatHadExpiredDoesNotGoOnAfterAFailover(t *testing.T) {
	for _, broken := range []bool{false, true} {
		kind := simKind{forgets: true, unaware: broken, unique: true}
		if broken {
			kind.wrap = simExpiredGoOn
		}
		w := newSimCase(t, kind, 1)
		w.choices.script = make([]byte, 1<<16) // no other events
		first, second := w.start(w.hosts[0]), w.start(w.hosts[1])
		first.step()
		w.eventFailover() // the replica gets nothing more
		w.advance(2*w.plan.window + time.Second)
		second.step()
		w.eventFailover() // the replica is promoted
		first.step()
		second.call()
		first.call()
		if !second.opened || (w.violation != "") != broken {
			t.Errorf("broken %v: %s", broken, w.violation)
		}
	}
}
