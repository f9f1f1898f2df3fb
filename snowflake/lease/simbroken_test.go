package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// simAnyoneExtends breaks the rule that only the owner extends: it accepts an extension from anybody.
type simAnyoneExtends struct {
	lease.Store
	owners map[int64]lease.Claim
}

func (s simAnyoneExtends) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	if err == nil {
		s.owners[grant.Worker] = grant.Claim
	}
	return grant, err
}

func (s simAnyoneExtends) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	owner := s.owners[c.Worker]
	owner.Next = c.Next
	return s.extend(ctx, owner, h, ttl)
}

// extend extends the claim and remembers its new token.
func (s simAnyoneExtends) extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	now, err := s.Store.Extend(ctx, c, h, ttl)
	if err == nil {
		c.Token = c.Next
		s.owners[c.Worker] = c
	}
	return now, err
}

// simCommitsLater breaks the rule that a horizon is committed before it is used: it confirms a horizon and commits it
// later, or never.
type simCommitsLater struct {
	lease.Store
	w *simWorld
}

func (s simCommitsLater) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	s.w.late = append(s.w.late, func() {
		_, err := s.Store.Extend(ctx, c, h, ttl)
		s.w.note(nil, "the horizon %d of worker %d is committed only now: %v", h, c.Worker, err)
		s.w.audit(nil)
	})
	return s.w.storeNow, nil
}

// simLowersHorizon breaks the rule that a release lowers the horizon only to the tick that was requested: it lowers it
// to the tick of the releasing process's clock.
type simLowersHorizon struct {
	lease.Store
	w        *simWorld
	horizons map[int64]int64
}

func (s simLowersHorizon) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	grant.Horizon = s.horizons[grant.Worker]
	return grant, err
}

func (s simLowersHorizon) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	now, err := s.Store.Extend(ctx, c, h, ttl)
	if err == nil {
		s.horizons[c.Worker] = max(s.horizons[c.Worker], h)
	}
	return now, err
}

func (s simLowersHorizon) Release(ctx context.Context, c lease.Claim, h int64) error {
	err := s.Store.Release(ctx, c, h)
	if err == nil {
		s.horizons[c.Worker] = min(s.horizons[c.Worker], s.w.tick(s.w.caller.host.wall))
	}
	return err
}

func (s simLowersHorizon) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	entries, err := s.Store.List(ctx, namespace)
	for i := range entries {
		entries[i].Horizon = s.horizons[entries[i].Worker]
	}
	return entries, err
}

// simReleasesLast breaks the rule that a release asks for a tick above all that were issued: it asks for the last one
// issued.
type simReleasesLast struct{ lease.Store }

func (s simReleasesLast) Release(ctx context.Context, c lease.Claim, h int64) error {
	return s.Store.Release(ctx, c, h-1)
}

// simReleasesForAnybody breaks the rule that only the owner releases: it accepts a release from anybody.
type simReleasesForAnybody struct{ simAnyoneExtends }

func (s simReleasesForAnybody) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	return s.extend(ctx, c, h, ttl)
}

func (s simReleasesForAnybody) Release(ctx context.Context, c lease.Claim, h int64) error {
	return s.Store.Release(ctx, s.owners[c.Worker], h)
}

// releaseFirst breaks the rule that the generator is frozen before a release: it gives back what is above the last ID
// that was returned, and then closes.
func (p *simProcess) releaseFirst() {
	claim, from := p.lease.State().Claim, p.lease.State().From
	_ = simPort{p}.Release(context.Background(), claim, max(from, p.highest>>sequenceBits+1))
}

// simKeepsToken breaks the rule that an extension hands the row on to a new token: the row keeps the one of the
// acquisition, and the store looks at the epoch only.
type simKeepsToken struct {
	lease.Store
	tokens map[simOwner]string
}

type simOwner struct{ worker, epoch int64 }

func (s simKeepsToken) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	if err == nil {
		s.tokens[simOwner{grant.Worker, grant.Epoch}] = grant.Token
	}
	return grant, err
}

func (s simKeepsToken) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	c.Token = s.tokens[simOwner{c.Worker, c.Epoch}]
	c.Next = c.Token
	return s.Store.Extend(ctx, c, h, ttl)
}

func (s simKeepsToken) Release(ctx context.Context, c lease.Claim, h int64) error {
	c.Token = s.tokens[simOwner{c.Worker, c.Epoch}]
	return s.Store.Release(ctx, c, h)
}

// goOn breaks the rule that an owner which has lost the worker issues nothing more: it uses what is left below its
// horizon.
func (p *simProcess) goOn(worker int64, horizon time.Time) {
	if err := p.lease.Lessee().Move(worker, p.highest>>sequenceBits+1, p.w.tick(horizon)); err != nil {
		p.w.fail(p, "does not go on: %v", err)
	}
}

// simStartsAtNow breaks the rule that a takeover starts at the old horizon.
type simStartsAtNow struct{ lease.Store }

func (s simStartsAtNow) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	grant.Horizon = r.Tick
	return grant, err
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
		{"extend without owner check", simKind{wrap: func(_ *simWorld, s lease.Store) lease.Store {
			return simAnyoneExtends{s, map[int64]lease.Claim{}}
		}}},
		{"horizon after use", simKind{wrap: func(w *simWorld, s lease.Store) lease.Store { return simCommitsLater{s, w} }}},
		{"expiry by the client's clock", simKind{expiry: true}},
		{"release lowers below what was asked", simKind{wrap: func(w *simWorld, s lease.Store) lease.Store {
			return simLowersHorizon{s, w, map[int64]int64{}}
		}}},
		{"release to the last tick issued", simKind{wrap: func(_ *simWorld, s lease.Store) lease.Store {
			return simReleasesLast{s}
		}}},
		{"release without owner check", simKind{wrap: func(_ *simWorld, s lease.Store) lease.Store {
			return simReleasesForAnybody{simAnyoneExtends{s, map[int64]lease.Claim{}}}
		}}},
		{"release before the freeze", simKind{early: true}},
		{"extend keeps the token", simKind{copies: true, wrap: func(_ *simWorld, s lease.Store) lease.Store {
			return simKeepsToken{s, map[simOwner]string{}}
		}}},
		{"a lost owner goes on", simKind{copies: true, goesOn: true}},
		{"takeover starts at now", simKind{wrap: func(_ *simWorld, s lease.Store) lease.Store {
			return simStartsAtNow{s}
		}}},
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
