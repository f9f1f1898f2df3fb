package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// simOwners makes the store remember the owners, by worker, and extend the claims that as returns.
func simOwners(s *altered, as func(c, owner lease.Claim) lease.Claim) map[int64]lease.Claim {
	owners := map[int64]lease.Claim{}
	s.granting(func(_ lease.Request, g *lease.Grant) { owners[g.Worker] = g.Claim })
	s.extend.set(func(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
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
	simOwners(s, func(c, owner lease.Claim) lease.Claim {
		owner.Next = c.Next
		return owner
	})
}

// simReleasesForAnybody breaks the rule that only the owner releases: it accepts a release from anybody.
func simReleasesForAnybody(_ *simWorld, s *altered) {
	owners := simOwners(s, func(c, _ lease.Claim) lease.Claim { return c })
	s.release.set(func(ctx context.Context, c lease.Claim, h int64) error {
		return s.Store.Release(ctx, owners[c.Worker], h)
	})
}

// simCommitsLater breaks the rule that a horizon is committed before it is used: it confirms a horizon and commits it
// later, or never.
func simCommitsLater(w *simWorld, s *altered) {
	s.extend.set(func(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
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
	s.release.set(func(ctx context.Context, c lease.Claim, _ int64) error {
		return s.Store.Release(ctx, c, w.tick(w.caller.host.wall))
	})
}

// simReleasesLast breaks the rule that a release asks for a tick above all that were issued: it asks for the last one
// issued.
func simReleasesLast(_ *simWorld, s *altered) {
	s.release.set(func(ctx context.Context, c lease.Claim, h int64) error { return s.Store.Release(ctx, c, h-1) })
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
	s.granting(func(_ lease.Request, g *lease.Grant) { tokens[owner{g.Worker, g.Epoch}] = g.Token })
	s.extending(func(c *lease.Claim) {
		c.Token = tokens[owner{c.Worker, c.Epoch}]
		c.Next = c.Token
	})
	s.release.set(func(ctx context.Context, c lease.Claim, h int64) error {
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
	s.granting(func(r lease.Request, g *lease.Grant) { g.Horizon = r.Tick })
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

// TestTheSimulatorCatchesEveryBrokenRule breaks one rule after the other. Each time there must be schedules in which an
// invariant fails, and some in which an ID is issued twice if only that is checked. Otherwise the simulator, or the
// rule, would be useless.
func TestTheSimulatorCatchesEveryBrokenRule(t *testing.T) {
	const (
		soonest = 100  // schedules for an invariant to fail
		latest  = 4000 // for an ID to repeat
	)
	for _, rule := range []struct {
		name string
		kind simKind
	}{
		{"extend without owner check", simKind{wrap: simAnyoneExtends}},
		{"horizon after use", simKind{wrap: simCommitsLater}},
		{"expiry by the client's clock", simKind{expiry: true}},
		{"release lowers below what was asked", simKind{wrap: simLowersHorizon}},
		{"release to the last tick issued", simKind{wrap: simReleasesLast}},
		{"release without owner check", simKind{wrap: simReleasesForAnybody}},
		{"release before the freeze", simKind{early: true}},
		{"extend keeps the token", simKind{copies: true, wrap: simKeepsToken}},
		{"a lost owner goes on", simKind{copies: true, goesOn: true}},
		{"takeover starts at now", simKind{wrap: simStartsAtNow}},
	} {
		t.Run(rule.name, func(t *testing.T) {
			mustCatch(t, rule.kind, soonest)
			rule.kind.unique = true
			mustCatch(t, rule.kind, latest)
		})
	}
}

// mustCatch looks for the first schedule that ends in a violation.
func mustCatch(t *testing.T, kind simKind, limit int) {
	t.Helper()
	for seed := range uint64(limit) {
		if w := runSim(kind, seed, nil); w.violation != "" {
			t.Logf("caught in schedule %d: %s", seed+1, w.violation)
			return
		}
	}
	t.Errorf("not caught in %d schedules", limit)
}
