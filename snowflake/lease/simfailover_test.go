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
	holdsWhileItForgets(t, simKind{forgets: true})
	holdsWhileItForgets(t, simKind{forgets: true, drills: true})
}

func holdsWhileItForgets(t *testing.T, kind simKind) {
	t.Helper()
	mustHold(t, kind, 2000, "failovers", "takeovers", "IDs")
}

// simReach breaks the rule that a floor is above all that a forgotten owner can have been granted: the reach lacks a
// part.
type simReach struct {
	lease.Store
	lacks time.Duration
}

func (s simReach) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	r.Reach = max(0, r.Reach-s.lacks)
	return s.Store.Acquire(ctx, r)
}

func (s simReach) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	c.Reach = max(0, c.Reach-s.lacks)
	return s.Store.Extend(ctx, c, h, ttl)
}

// simNoFloor breaks the rule that new owners start above a floor.
type simNoFloor struct{ lease.Store }

func (s simNoFloor) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	grant.Floor = time.Time{}
	return grant, err
}

// simFloorBefore breaks the rule that the floor is that of the server that lends the worker: a process uses the one that
// its call before has found.
type simFloorBefore struct {
	lease.Store
	w      *simWorld
	floors map[*simProcess]time.Time
}

func (s simFloorBefore) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	if err == nil {
		grant.Floor, s.floors[s.w.caller] = s.floors[s.w.caller], grant.Floor
	}
	return grant, err
}

// simTimed breaks the rule that an owner keeps its worker after a failover only if its lease can't have expired before:
// each owner believes that.
type simTimed struct{ lease.Store }

func (s simTimed) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	c.Until = time.Now().Add(ttl)
	return s.Store.Extend(ctx, c, h, ttl)
}

// simComparesClocks breaks the same rule: the expiry by the clock of the old server is compared with the time of the
// failover by that of the new one, as if they were the same.
type simComparesClocks struct {
	lease.Store
	w *simWorld
}

func (s simComparesClocks) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	entries, err := s.List(ctx, c.Namespace)
	if err != nil {
		return time.Time{}, err
	}
	for _, e := range entries {
		if e.Worker == c.Worker && e.Expires.After(s.w.fellTo) {
			c.Until = time.Now().Add(ttl)
		}
	}
	return s.Store.Extend(ctx, c, h, ttl)
}

// simExpiredGoOn breaks it with a store below it that is unaware.
type simExpiredGoOn struct {
	lease.Store
	w *simWorld
}

func (s simExpiredGoOn) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	if err == nil && !s.w.fellTo.IsZero() {
		grant.Floor = s.w.fellTo.Add(r.Reach)
	}
	return grant, err
}

func TestTheSimulatorCatchesEveryBrokenRuleOfAFailover(t *testing.T) {
	for _, rule := range []struct {
		name string
		wrap func(w *simWorld, s lease.Store) lease.Store
	}{
		{"no floor", func(_ *simWorld, s lease.Store) lease.Store { return simNoFloor{s} }},
		{"a floor without the window", func(w *simWorld, s lease.Store) lease.Store { return simReach{s, w.plan.window} }},
		{"a floor without the lead", func(w *simWorld, s lease.Store) lease.Store { return simReach{s, w.plan.lead} }},
		{"a floor without the skew", func(w *simWorld, s lease.Store) lease.Store { return simReach{s, w.plan.skew} }},
		{"a floor from an earlier statement", func(w *simWorld, s lease.Store) lease.Store {
			return simFloorBefore{s, w, map[*simProcess]time.Time{}}
		}},
	} {
		t.Run(rule.name, func(t *testing.T) {
			// Without the skew ticks may be issued twice, but hardly ever are.
			mustCatch(t, simKind{forgets: true, wrap: rule.wrap, unique: rule.name != "a floor without the skew"}, 4000)
		})
	}
	for name, kind := range map[string]simKind{
		"clocks of two servers compared":  {wrap: func(w *simWorld, s lease.Store) lease.Store { return simComparesClocks{s, w} }},
		"owners that don't time leases":   {wrap: func(_ *simWorld, s lease.Store) lease.Store { return simTimed{s} }},
		"leases timed from the arrival":   {late: true},
		"a greater window counts at once": {hasty: true},
	} {
		t.Run(name, func(t *testing.T) {
			kind.forgets, kind.drills = true, true
			mustCatch(t, kind, 100)
		})
	}
}

// The first owner's lease lasts longer on the server that has died than the one that took its place knows. That one is
// replaced, too, before the first owner asks it, by one that does not know whom it has given the worker to.
func TestAServerGivesOutNoWorkerThatTheOneBeforeMayHaveConfirmed(t *testing.T) {
	w := newSimCaseOf(t, simKind{forgets: true}, 1)
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
	if w.violation != "" || first.drawn == 0 {
		t.Errorf("%d IDs; %s", first.drawn, w.violation)
	}
}

// TestAnOwnerThatHadExpiredDoesNotGoOnAfterAFailover has two owners of a worker: one that has expired, and one that has
// taken the worker over, which the store has forgotten. Random schedules hardly ever have that.
func TestAnOwnerThatHadExpiredDoesNotGoOnAfterAFailover(t *testing.T) {
	for _, broken := range []bool{false, true} {
		kind := simKind{forgets: true, unaware: broken, unique: true}
		if broken {
			kind.wrap = func(w *simWorld, s lease.Store) lease.Store { return simExpiredGoOn{s, w} }
		}
		w := newSimCaseOf(t, kind, 1)
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
