package lease_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// simOwners makes the store remember the owners, by worker, and extend the claims that as returns.
func simOwners(s *altered, as func(c, owner leasestore.Claim) leasestore.Claim) map[int64]leasestore.Claim {
	owners := map[int64]leasestore.Claim{}
	s.granting(func(_ leasestore.Request, g *leasestore.Grant) { owners[g.Worker] = g.Claim })
	s.extend.set(func(ctx context.Context, c leasestore.Claim, h int64, ttl time.Duration) (time.Time, error) {
		owner := as(c, owners[c.Worker])
		now, err := s.Store.Extend(ctx, owner, h, ttl)
		if err == nil {
			owner.Token = owner.Next
			owners[c.Worker] = owner
		}
		return now, err
	})
	return owners
}

// simAnyoneExtends breaks the rule that only the owner extends: it accepts an extension from anybody.
func simAnyoneExtends(_ *simWorld, s *altered) {
	simOwners(s, func(c, owner leasestore.Claim) leasestore.Claim {
		owner.Next = c.Next
		return owner
	})
}

// simReleasesForAnybody breaks the rule that only the owner releases: it accepts a release from anybody.
func simReleasesForAnybody(_ *simWorld, s *altered) {
	owners := simOwners(s, func(c, _ leasestore.Claim) leasestore.Claim { return c })
	s.release.set(func(ctx context.Context, c leasestore.Claim, h int64) error {
		return s.Store.Release(ctx, owners[c.Worker], h)
	})
}

// simCommitsLater breaks the rule that a horizon is committed before it is used: it confirms a horizon and commits it
// later, or never.
func simCommitsLater(w *simWorld, s *altered) {
	s.extend.set(func(ctx context.Context, c leasestore.Claim, h int64, ttl time.Duration) (time.Time, error) {
		w.late = append(w.late, func() {
			_, err := s.Store.Extend(ctx, c, h, ttl)
			w.note(nil, "the horizon %d of worker %d is committed only now: %v", h, c.Worker, err)
			w.audit(nil)
		})
		return w.storeNow, nil
	})
}

// simLowersHorizon breaks the rule that a release lowers the horizon only to the tick that was requested: it lowers it
// to the tick of the releasing process's clock.
func simLowersHorizon(w *simWorld, s *altered) {
	s.release.set(func(ctx context.Context, c leasestore.Claim, _ int64) error {
		return s.Store.Release(ctx, c, w.tick(w.caller.host.wall))
	})
}

// simReleasesLast breaks the rule that a release asks for a tick above all that were issued: it asks for the last one
// issued.
func simReleasesLast(_ *simWorld, s *altered) {
	s.release.set(func(ctx context.Context, c leasestore.Claim, h int64) error { return s.Store.Release(ctx, c, h-1) })
}

// releaseFirst breaks the rule that the generator is frozen before a release: it gives back what is above the last ID
// that was returned, and then closes.
func (p *simProcess) releaseFirst() {
	claim, from := p.lease.State().Claim, p.lease.State().From
	_ = simPort{p}.Release(context.Background(), claim, max(from, p.highest>>sequenceBits+1))
}

// simKeepsToken breaks the rule that an extension hands the row on to a new token: the row keeps the one of the
// acquisition, and the store looks at the epoch only.
func simKeepsToken(_ *simWorld, s *altered) {
	type owner struct{ worker, epoch int64 }
	tokens := map[owner]string{}
	s.granting(func(_ leasestore.Request, g *leasestore.Grant) { tokens[owner{g.Worker, g.Epoch}] = g.Token })
	s.extending(func(c *leasestore.Claim) {
		c.Token = tokens[owner{c.Worker, c.Epoch}]
		c.Next = c.Token
	})
	s.release.set(func(ctx context.Context, c leasestore.Claim, h int64) error {
		c.Token = tokens[owner{c.Worker, c.Epoch}]
		return s.Store.Release(ctx, c, h)
	})
}

// goOn breaks the rule that an owner which has lost the worker issues nothing more: it uses what is left below its
// horizon.
func (p *simProcess) goOn(worker int64, horizon time.Time) {
	if err := p.lease.Lessee().Move(worker, p.highest>>sequenceBits+1, p.w.tick(horizon)); err != nil {
		p.w.fail(p, "does not go on: %v", err)
	}
}

// simStartsAtNow breaks the rule that a takeover starts at the old horizon.
func simStartsAtNow(_ *simWorld, s *altered) {
	s.granting(func(r leasestore.Request, g *leasestore.Grant) { g.Horizon = r.Tick })
}

// extendByExpiry breaks the rule that the horizon decides what may be issued: it uses the expiry instead, by the
// process's wall clock.
func (p *simProcess) extendByExpiry() bool {
	tick, err := p.lease.Lessee().Tick()
	if err != nil || !p.host.wall.Before(p.expires) {
		return false
	}
	p.lease.Lessee().Extend(tick + p.w.ticks(snowflake.MaxLead+24*time.Hour))
	return true
}

// lacking breaks the rule that a floor is above all that a forgotten owner can have been granted: it lacks a part.
func (s *altered) lacking(part time.Duration) {
	s.granting(func(_ leasestore.Request, g *leasestore.Grant) {
		if !g.Floor.IsZero() {
			g.Floor = g.Floor.Add(-part)
		}
	})
}

func simLacksWindow(w *simWorld, s *altered) { s.lacking(w.plan.window) }
func simLacksLead(w *simWorld, s *altered)   { s.lacking(w.plan.lead) }
func simLacksSkew(w *simWorld, s *altered)   { s.lacking(w.plan.skew) }

// simNoFloor breaks the rule that new owners start above a floor.
func simNoFloor(_ *simWorld, s *altered) {
	s.granting(func(_ leasestore.Request, g *leasestore.Grant) { g.Floor = time.Time{} })
}

// simFloorBefore breaks the rule that the floor is that of the server that lends the worker: a process uses the one
// that its call before has found.
func simFloorBefore(w *simWorld, s *altered) {
	floors := map[*simProcess]time.Time{}
	s.granting(func(_ leasestore.Request, g *leasestore.Grant) { g.Floor, floors[w.caller] = floors[w.caller], g.Floor })
}

// simNotShown breaks the rule that a step forward of the wall clock is followed only if the store's clock confirms it:
// no process sees what that shows.
func simNotShown(w *simWorld, _ *altered) { w.plan.blind = true }

// simByMonotonicClock breaks the rule that both clocks of an owner tell how long its lease lasts: each looks at the
// monotonic clock.
func simByMonotonicClock(w *simWorld, s *altered) {
	s.extending(func(c *leasestore.Claim) {
		_, age := w.caller.lease.Age()
		*c = lease.Lasting(*c, time.Hour, w.caller.window*7/4-age)
	})
}

// simByWallClock breaks the same rule: each looks at the wall clock.
func simByWallClock(w *simWorld, s *altered) {
	s.extending(func(c *leasestore.Claim) {
		age, _ := w.caller.lease.Age()
		*c = lease.Lasting(*c, w.caller.window*7/4-age, time.Hour)
	})
}

// simWithoutSkew breaks the rule that an owner does not count on the last part of its lease, as long as the skew: both of
// its clocks may have stood still for that long.
func simWithoutSkew(w *simWorld, s *altered) {
	s.extending(func(c *leasestore.Claim) {
		wall, elapsed := w.caller.lease.Age()
		left := w.caller.window*7/4 - max(wall, elapsed)
		*c = lease.Lasting(*c, left, left)
	})
}

// simTimed breaks the rule that an owner keeps its worker after a failover only if its lease can't have expired before:
// each owner believes that.
func simTimed(_ *simWorld, s *altered) {
	s.extending(func(c *leasestore.Claim) { *c = lease.Lasting(*c, time.Hour, time.Hour) })
}

// simComparesClocks breaks the same rule: the expiry by the clock of the old server is compared with the time of the
// failover by that of the new one, as if they were the same.
func simComparesClocks(w *simWorld, s *altered) {
	s.extending(func(c *leasestore.Claim) {
		entries, err := s.List(context.Background(), c.Namespace)
		if err != nil {
			w.fail(nil, "List: %v", err)
		}
		for _, e := range entries {
			if e.Worker == c.Worker && e.Expires.After(w.fellTo) {
				*c = lease.Lasting(*c, time.Hour, time.Hour)
			}
		}
	})
}

// simExpiredGoOn breaks it with a store below it that is unaware.
func simExpiredGoOn(w *simWorld, s *altered) {
	s.granting(func(r leasestore.Request, g *leasestore.Grant) {
		if !w.fellTo.IsZero() {
			g.Floor = w.fellTo.Add(r.Reach)
		}
	})
}

// simRule is a rule of the leases. Schedules of its drill must find that it is broken.
type simRule struct {
	name   string
	drill  simDrill
	broken simKind
	silent bool // no ID need be issued twice: an invariant fails, so that one may be
}

var simRules = []simRule{
	{"extend without owner check", simStaleExtends, simKind{wrap: simAnyoneExtends}, false},
	{"release without owner check", simStaleReleases, simKind{wrap: simReleasesForAnybody}, false},
	{"horizon after use", simUncommitted, simKind{wrap: simCommitsLater}, false},
	{"expiry by the client's clock", simSetBackExpires, simKind{expiry: true}, false},
	{"release lowers below what was asked", simSetBackCloses, simKind{wrap: simLowersHorizon}, false},
	{"release to the last tick issued", simRestarts, simKind{wrap: simReleasesLast}, false},
	{"release before the freeze", simClosesInACall, simKind{early: true}, false},
	{"extend keeps the token", simCloned, simKind{wrap: simKeepsToken}, false},
	{"a lost owner goes on", simCloned, simKind{goesOn: true}, false},
	{"takeover starts at now", simSetBackCrashes, simKind{wrap: simStartsAtNow}, false},

	{"no floor", simForgotten, simKind{wrap: simNoFloor}, false},
	{"a floor without the window", simForgotten, simKind{wrap: simLacksWindow}, false},
	{"a floor without the lead", simForgotten, simKind{wrap: simLacksLead}, false},
	{"a floor without the skew", simForgotten, simKind{wrap: simLacksSkew}, false},
	{"a floor from an earlier statement", simForgotten, simKind{wrap: simFloorBefore}, false},
	{"a greater window counts at once", simForgotten, simKind{hasty: true}, false},
	{"share forgotten", simForgottenShare, simKind{breaks: "share forgotten"}, true},

	{"expired owners go on", simExpiredCutOff, simKind{unaware: true, wrap: simExpiredGoOn}, false},
	{"owners that don't time leases", simExpiredCutOff, simKind{wrap: simTimed}, false},
	{"clocks of two servers compared", simExpiredCutOff, simKind{wrap: simComparesClocks}, false},
	{"leases timed from the arrival", simExpiredInACall, simKind{late: true}, false},
	{"the monotonic clock alone", simExpiredAsleep, simKind{wrap: simByMonotonicClock}, false},
	{"the monotonic clock alone, in a call", simExpiredAsleepInACall, simKind{wrap: simByMonotonicClock}, false},
	{"a lease timed without the skew", simExpiredPaused, simKind{wrap: simWithoutSkew}, false},
	{"the wall clock alone", simExpiredSetBack, simKind{wrap: simByWallClock}, false},
	{"the wall clock alone, in a call", simExpiredSetBackInACall, simKind{wrap: simByWallClock}, false},
	{"rows before the floor", simTwoFailovers, simKind{breaks: "rows before the floor"}, false},

	{"horizons follow the generator", simAheadLong, simKind{breaks: "horizons follow the generator"}, false},
	{"a floor by the clock alone", simAheadShortly, simKind{breaks: "a floor by the clock alone"}, false},
	{"a move ends no owner", simMoved, simKind{breaks: "a move ends no owner"}, true},
	{"a move starts at now", simMovedAhead, simKind{breaks: "a move starts at now"}, false},
	{"unconfirmed steps are followed", simStepsForward, simKind{wrap: simNotShown}, true},
}

func (r simRule) kind() simKind {
	kind := r.broken
	kind.drill, kind.forgets, kind.copies, kind.unique = &r.drill, r.drill.sql, r.drill.copies, !r.silent
	return kind
}

// TestADirectedScheduleFindsEachBrokenRule breaks one rule after the other, in a schedule in which nothing happens by
// chance. An ID is issued twice, or an invariant of the rule fails. The same schedule holds if the rule does.
func TestADirectedScheduleFindsEachBrokenRule(t *testing.T) {
	for _, rule := range simRules {
		t.Run(rule.name, func(t *testing.T) {
			if w := runDirected(rule.kind()); w.violation == "" {
				t.Errorf("not found:\n%s", &w.trace)
			}
			if w := runDirected(rule.drill.kind()); w.violation != "" {
				t.Errorf("the rule is not broken: %s\n%s", w.violation, &w.trace)
			}
		})
	}
}

// TestRandomSchedulesFindEachBrokenRule breaks one rule after the other. One of 200 schedules must find it, and in the
// long run one of twenty.
func TestRandomSchedulesFindEachBrokenRule(t *testing.T) {
	const soon, many, rate = 200, 20_000, 0.05
	long := os.Getenv("SNOWFLAKE_TEST_LONG") != ""
	for _, rule := range simRules {
		t.Run(rule.name, func(t *testing.T) {
			kind := rule.kind()
			if !long {
				mustCatch(t, kind, soon)
				return
			}

			found := 0
			for seed := range uint64(many) {
				if w := runSim(kind, seed); w.violation != "" {
					found++
				}
			}
			t.Logf("found in %.1f %% of %d schedules", 100*float64(found)/many, many)
			if float64(found) < rate*many {
				t.Errorf("want %.0f %%", 100*rate)
			}
		})
	}
}

// TestOneMoreReadingOfAClockMovesNoOtherEvent makes the same schedules with one more reading of the clock wherever a
// call of a generator reads it. Other events may happen there, and may change what is found, but nearly all schedules
// that find a broken rule are still the same ones.
func TestOneMoreReadingOfAClockMovesNoOtherEvent(t *testing.T) {
	const seeds, same = 50, 0.9
	found, again := 0, 0
	for _, rule := range simRules {
		kind := rule.kind()
		for seed := range uint64(seeds) {
			kind.readings = 0
			if w := runSim(kind, seed); w.violation == "" {
				continue
			}

			found++
			kind.readings = 1
			if w := runSim(kind, seed); w.violation != "" {
				again++
			}
		}
	}
	t.Logf("%d of %d schedules find the same", again, found)
	if float64(again) < same*float64(found) {
		t.Errorf("want %.0f %%", 100*same)
	}
}

// mustCatch looks for the first schedule that ends in a violation.
func mustCatch(t *testing.T, kind simKind, limit int) {
	t.Helper()
	for seed := range uint64(limit) {
		if w := runSim(kind, seed); w.violation != "" {
			t.Logf("caught in schedule %d: %s", seed+1, w.violation)
			return
		}
	}
	t.Errorf("not caught in %d schedules", limit)
}
