package leasetest

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// memory is what lease.NewMemory returns.
type memory interface {
	leasestore.Store
	Require(namespace, version string)
	Change(namespace string, change func(r *leasestore.Entry))
}

func newMemory(clock func() time.Time) memory { return lease.NewMemory(clock).(memory) }

// faulty is a store with a fault in the methods that are not nil.
type faulty struct {
	memory
	acquire func(m memory, ctx context.Context, r leasestore.Request) (leasestore.Grant, error)
	extend  func(m memory, ctx context.Context, c leasestore.Claim, h int64, ttl time.Duration) (time.Time, error)
	release func(m memory, ctx context.Context, c leasestore.Claim, h int64) error
}

func (s faulty) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	if s.acquire != nil {
		return s.acquire(s.memory, ctx, r)
	}
	return s.memory.Acquire(ctx, r)
}

func (s faulty) Extend(ctx context.Context, c leasestore.Claim, h int64, ttl time.Duration) (time.Time, error) {
	if s.extend != nil {
		return s.extend(s.memory, ctx, c, h, ttl)
	}
	return s.memory.Extend(ctx, c, h, ttl)
}

func (s faulty) Release(ctx context.Context, c leasestore.Claim, h int64) error {
	if s.release != nil {
		return s.release(s.memory, ctx, c, h)
	}
	return s.memory.Release(ctx, c, h)
}

// changeRow calls f for the row of the claim's worker whoever owns it, if there is one.
func changeRow(m memory, c leasestore.Claim, f func(r *leasestore.Entry)) {
	m.Change(c.Namespace, func(r *leasestore.Entry) {
		if r.Worker == c.Worker {
			f(r)
		}
	})
}

// owner is the claim of whoever has the worker now, with the next token of c.
func owner(m memory, c leasestore.Claim) leasestore.Claim {
	changeRow(m, c, func(r *leasestore.Entry) { c.Epoch, c.Token = r.Epoch, r.Token })
	return c
}

// delay lasts as long as a statement of a database.
func delay() {
	for start := time.Now(); time.Since(start) < time.Millisecond; {
		runtime.Gosched()
	}
}

// startsAt returns a takeover that starts at another horizon.
func startsAt(horizon func(leasestore.Request) int64) faulty {
	return faulty{acquire: func(m memory, ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
		grant, err := m.Acquire(ctx, r)
		if grant.Epoch > 1 {
			grant.Horizon = horizon(r)
		}
		return grant, err
	}}
}

// releasesTo leaves another horizon than the one that was requested.
func releasesTo(horizon func(was, asked int64) int64) faulty {
	return faulty{release: func(m memory, ctx context.Context, c leasestore.Claim, h int64) error {
		err := m.Release(ctx, c, math.MaxInt64)
		if err == nil {
			changeRow(m, c, func(r *leasestore.Entry) { r.Horizon = horizon(r.Horizon, h) })
		}
		return err
	}}
}

// asking returns an Acquire of another request.
func asking(change func(m memory, r *leasestore.Request)) faulty {
	return faulty{acquire: func(m memory, ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
		change(m, &r)
		return m.Acquire(ctx, r)
	}}
}

// extending returns an Extend of another claim.
func extending(change func(m memory, c leasestore.Claim) leasestore.Claim) faulty {
	return faulty{extend: func(m memory, ctx context.Context, c leasestore.Claim, h int64, ttl time.Duration) (time.Time, error) {
		return m.Extend(ctx, change(m, c), h, ttl)
	}}
}

// extended returns an Extend after whose success the row is changed.
func extended(change func(r *leasestore.Entry, c leasestore.Claim, horizon int64)) faulty {
	return faulty{extend: func(m memory, ctx context.Context, c leasestore.Claim, h int64, ttl time.Duration) (time.Time, error) {
		now, err := m.Extend(ctx, c, h, ttl)
		if err == nil {
			changeRow(m, c, func(r *leasestore.Entry) { change(r, c, h) })
		}
		return now, err
	}}
}

// releasing returns a Release of another claim.
func releasing(change func(m memory, c leasestore.Claim) leasestore.Claim) faulty {
	return faulty{release: func(m memory, ctx context.Context, c leasestore.Claim, h int64) error {
		return m.Release(ctx, change(m, c), h)
	}}
}

func anybody(m memory, c leasestore.Claim) leasestore.Claim { return owner(m, c) }

func anyEpoch(m memory, c leasestore.Claim) leasestore.Claim {
	c.Epoch = owner(m, c).Epoch
	return c
}

// faults are stores with one fault each, and a subtest that must fail for it.
var faults = []struct {
	name   string
	store  faulty
	caught string
}{
	{"extend without owner check", extending(anybody), "Extend/after a takeover it is always ErrLost, as Release is, and changes nothing"},
	{"extend checks the token, not the epoch", extending(anyEpoch), "Extend/another token or epoch is ErrLost, as for Release, and changes nothing"},
	{
		"extend keeps the token", extended(func(r *leasestore.Entry, c leasestore.Claim, _ int64) { r.Token = c.Token }),
		"Extend/the next token takes the place of the token, which is ErrLost from then on",
	},
	{"extend checks the token, then replaces it", faulty{
		extend: func(m memory, ctx context.Context, c leasestore.Claim, h int64, ttl time.Duration) (time.Time, error) {
			checked := c
			if token := owner(m, c).Token; token == c.Token {
				checked.Next = token
			}
			now, err := m.Extend(ctx, checked, h, ttl)
			if err == nil && checked.Next != c.Next && leasestore.ValidateExtension(c, ttl) == nil {
				delay()
				changeRow(m, c, func(r *leasestore.Entry) { r.Token = c.Next })
			}
			return now, err
		},
	}, "Concurrency/of copies of a claim that extend at once one succeeds, the others are ErrLost"},
	{"extend does not know the next token", extending(func(m memory, c leasestore.Claim) leasestore.Claim {
		if owner(m, c).Token == c.Next {
			c.Epoch = -1
		}
		return c
	}), "Extend/the same extension many times in a row is never lost"},
	{"extend takes any next token", extending(func(_ memory, c leasestore.Claim) leasestore.Claim {
		if leasestore.ValidateExtension(c, long) != nil {
			c.Next = c.Token
		}
		return c
	}), "Input/bad requests are ErrOption and change nothing"},
	{
		"extend lowers the horizon", extended(func(r *leasestore.Entry, _ leasestore.Claim, h int64) { r.Horizon = h }),
		"Extend/the horizon is raised, visible to all, and never lowered",
	},
	{"extend fails once the expiry has passed", extending(func(m memory, c leasestore.Claim) leasestore.Claim {
		changeRow(m, c, func(r *leasestore.Entry) {
			if !r.Held {
				c.Epoch = -1
			}
		})
		return c
	}), "Extend/it still succeeds after the expiry, before a takeover"},
	{"release lowers below what was asked", releasesTo(func(was, asked int64) int64 { return min(was, asked-1) }), lowered},
	{"release keeps the horizon", releasesTo(func(was, _ int64) int64 { return was }), lowered},
	{"release takes a negative horizon", releasesTo(func(was, asked int64) int64 { return min(was, asked) }), lowered},
	{"release raises the horizon", releasesTo(func(_, asked int64) int64 { return asked }), lowered},
	{"release does not know the next token", releasing(func(_ memory, c leasestore.Claim) leasestore.Claim {
		c.Next = ""
		return c
	}), "Release/an owner whose extension got no reply, or never came, releases, also repeatedly"},
	{"release without owner check", releasing(anybody), "Extend/after a takeover it is always ErrLost, as Release is, and changes nothing"},
	{"release checks the token, not the epoch", releasing(anyEpoch), "Extend/another token or epoch is ErrLost, as for Release, and changes nothing"},
	{"takeover starts at 0", startsAt(func(leasestore.Request) int64 { return 0 }), "Concurrency/what owners may use of a worker never overlaps"},
	{"takeover starts at now", startsAt(func(r leasestore.Request) int64 { return r.Tick }), taken},
	{"takeover returns a horizon read before", faulty{
		acquire: func(m memory, ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
			before := map[int64]int64{}
			m.Change(r.Namespace, func(r *leasestore.Entry) { before[r.Worker] = r.Horizon })
			delay()
			grant, err := m.Acquire(ctx, r)
			if err == nil {
				grant.Horizon = before[grant.Worker]
			}
			return grant, err
		},
	}, "Concurrency/what owners may use of a worker never overlaps"},
	{"expiry ignored", asking(func(m memory, r *leasestore.Request) {
		m.Change(r.Namespace, func(found *leasestore.Entry) {
			if found.Token != r.Token {
				found.Expires = time.Time{}
			}
		})
	}), "Acquire/a held worker is lent to nobody else"},
	{"the clock stands still", faulty{memory: stopped()}, "Extend/it still succeeds after the expiry, before a takeover"},
	{"token of an expired row returned", asking(func(m memory, r *leasestore.Request) {
		m.Change(r.Namespace, func(found *leasestore.Entry) {
			if found.Token == r.Token {
				found.Expires = time.Now().Add(r.TTL)
			}
		})
	}), "Acquire/the token of an expired row is not returned"},
	{"layout not checked", asking(func(_ memory, r *leasestore.Request) {
		if r.Layout != "" {
			r.Layout = "any"
		}
	}), "Acquire/another layout is refused without a change"},
	{"the version is forgotten", asking(func(m memory, r *leasestore.Request) { m.Require(r.Namespace, "") }), laterVersion},
	{"extend does not look at the version", extending(func(m memory, c leasestore.Claim) leasestore.Claim {
		m.Require(c.Namespace, "")
		return c
	}), laterVersion},
	{"reserved workers are lent", asking(func(m memory, r *leasestore.Request) {
		m.Change(r.Namespace, func(found *leasestore.Entry) {
			if found.Expires.After(time.Now().Add(9 * long)) {
				found.Expires = time.Time{}
			}
		})
	}), "Later/a reserved worker is lent to nobody"},
	{
		"tick not looked at", asking(func(_ memory, r *leasestore.Request) { r.Tick = math.MaxInt64 }),
		"Order/a horizon above the tick comes last, after numbers that were never taken",
	},
}

const (
	lowered      = "Release/the worker is free at once, and the next owner starts at the lowered horizon"
	laterVersion = "Later/a namespace of a later version refuses Acquire and Extend, which is no loss"

	taken = "Acquire/a takeover raises the epoch by one and starts at the earlier owner's horizon"
)

// stopped returns a store whose clock stands still.
func stopped() memory {
	start := time.Now()
	return newMemory(func() time.Time { return start })
}

// recorder takes the place of a test that must fail.
type recorder struct {
	testing.TB
	failed atomic.Bool
}

func (r *recorder) Error(...any)          { r.failed.Store(true) }
func (r *recorder) Errorf(string, ...any) { r.failed.Store(true) }
func (r *recorder) Failed() bool          { return r.failed.Load() }
func (r *recorder) Fatalf(string, ...any) { r.FailNow() }

func (r *recorder) FailNow() {
	r.failed.Store(true)
	runtime.Goexit()
}

// InMemory are the settings for lease.NewMemory.
var InMemory = Settings{Require: func(_ testing.TB, store leasestore.Store, namespace string) {
	store.(interface {
		Require(namespace, version string)
	}).Require(namespace, "2")
}}

func TestSuiteFailsForABrokenStore(t *testing.T) {
	tests := map[string]test{}
	for _, group := range groups {
		for _, test := range group.tests {
			tests[group.name+"/"+test.promise] = test
		}
	}

	const patience = 200 * time.Millisecond // it waits for what never happens
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			store := fault.store
			if store.memory == nil {
				store.memory = newMemory(nil)
			}

			r := &recorder{TB: t}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				tests[fault.caught].run(&fixture{TB: r, store: store, namespace: "n", settings: InMemory, patience: patience})
			}()

			if <-ended; !r.Failed() {
				t.Errorf("%s did not fail", fault.caught)
			}
		})
	}
}

func TestMemoryKeepsWhatAStorePromises(t *testing.T) {
	shared := lease.NewMemory(nil)
	farBack := func() time.Time { return time.Now().AddDate(-50, 0, 0) }
	for name, open := range map[string]func(*testing.T) leasestore.Store{
		"with the caller's clock": func(*testing.T) leasestore.Store { return shared },
		"with a clock far back":   func(*testing.T) leasestore.Store { return lease.NewMemory(farBack) },
	} {
		t.Run(name, func(t *testing.T) { Run(t, open, InMemory) })
	}
}

func TestMemoryTellsNoTimeIfTheClockIsTheCallers(t *testing.T) {
	store := lease.NewMemory(nil)
	grant, err := store.Acquire(t.Context(), leasestore.Request{Namespace: "n", Token: NewToken(), TTL: time.Minute})
	if err != nil || !grant.Now.IsZero() {
		t.Errorf("time %v, error %v; want none", grant.Now, err)
	}
	grant.Next = NewToken()
	if now, err := store.Extend(t.Context(), grant.Claim, 1, time.Minute); err != nil || !now.IsZero() {
		t.Errorf("time %v, error %v; want none", now, err)
	}
}
