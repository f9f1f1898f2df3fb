package leasetest

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// faulty is a store with a fault in the methods that are not nil.
type faulty struct {
	*memory
	acquire func(m *memory, ctx context.Context, r lease.Request) (lease.Grant, error)
	extend  func(m *memory, ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error)
	release func(m *memory, ctx context.Context, c lease.Claim, h int64) error
	list    func(m *memory, ctx context.Context, namespace string) ([]lease.Entry, error)
}

func (s faulty) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if s.acquire != nil {
		return s.acquire(s.memory, ctx, r)
	}
	return s.memory.Acquire(ctx, r)
}

func (s faulty) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	if s.extend != nil {
		return s.extend(s.memory, ctx, c, h, ttl)
	}
	return s.memory.Extend(ctx, c, h, ttl)
}

func (s faulty) Release(ctx context.Context, c lease.Claim, h int64) error {
	if s.release != nil {
		return s.release(s.memory, ctx, c, h)
	}
	return s.memory.Release(ctx, c, h)
}

func (s faulty) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	if s.list != nil {
		return s.list(s.memory, ctx, namespace)
	}
	return s.memory.List(ctx, namespace)
}

// change calls f for the rows of the namespace.
func (m *memory) change(namespace string, f func(worker int64, r *row)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ns := m.namespaces[namespace]; ns != nil {
		for worker, r := range ns.rows {
			f(worker, r)
		}
	}
}

// changeRow calls f for the row of the claim's worker whoever owns it, if there is one.
func (m *memory) changeRow(c lease.Claim, f func(r *row)) {
	m.change(c.Namespace, func(worker int64, r *row) {
		if worker == c.Worker {
			f(r)
		}
	})
}

// owner is the claim of whoever has the worker now, with the next token of c.
func (m *memory) owner(c lease.Claim) lease.Claim {
	m.changeRow(c, func(r *row) { c.Epoch, c.Token = r.epoch, r.token })
	return c
}

// delay lasts as long as a statement of a database.
func delay() {
	for start := time.Now(); time.Since(start) < time.Millisecond; {
		runtime.Gosched()
	}
}

// startsAt returns a takeover that starts at another horizon.
func startsAt(horizon func(lease.Request) int64) faulty {
	return faulty{acquire: func(m *memory, ctx context.Context, r lease.Request) (lease.Grant, error) {
		grant, err := m.Acquire(ctx, r)
		if grant.Epoch > 1 {
			grant.Horizon = horizon(r)
		}
		return grant, err
	}}
}

// releasesTo leaves another horizon than the one that was requested.
func releasesTo(horizon func(was, asked int64) int64) faulty {
	return faulty{release: func(m *memory, ctx context.Context, c lease.Claim, h int64) error {
		err := m.Release(ctx, c, math.MaxInt64)
		if err == nil {
			m.changeRow(c, func(r *row) { r.horizon = horizon(r.horizon, h) })
		}
		return err
	}}
}

// asking returns an Acquire of another request.
func asking(change func(m *memory, r *lease.Request)) faulty {
	return faulty{acquire: func(m *memory, ctx context.Context, r lease.Request) (lease.Grant, error) {
		change(m, &r)
		return m.Acquire(ctx, r)
	}}
}

// extending returns an Extend of another claim.
func extending(change func(m *memory, c lease.Claim) lease.Claim) faulty {
	return faulty{extend: func(m *memory, ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
		return m.Extend(ctx, change(m, c), h, ttl)
	}}
}

// extended returns an Extend after whose success the row is changed.
func extended(change func(r *row, c lease.Claim, horizon int64)) faulty {
	return faulty{extend: func(m *memory, ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
		now, err := m.Extend(ctx, c, h, ttl)
		if err == nil {
			m.changeRow(c, func(r *row) { change(r, c, h) })
		}
		return now, err
	}}
}

// releasing returns a Release of another claim.
func releasing(change func(m *memory, c lease.Claim) lease.Claim) faulty {
	return faulty{release: func(m *memory, ctx context.Context, c lease.Claim, h int64) error {
		return m.Release(ctx, change(m, c), h)
	}}
}

func anybody(m *memory, c lease.Claim) lease.Claim { return m.owner(c) }

func anyEpoch(m *memory, c lease.Claim) lease.Claim {
	c.Epoch = m.owner(c).Epoch
	return c
}

// faults are stores with one fault each, and the subtests that must fail for them; others may.
var faults = []struct {
	name   string
	store  faulty
	caught []string
}{
	{"none", faulty{}, nil},
	{"extend without owner check", extending(anybody), []string{
		"Extend/after a takeover it is always ErrLost and changes nothing",
		"Extend/another token or epoch is ErrLost and changes nothing",
		"Concurrency/what owners may use of a worker never overlaps",
	}},
	{"extend checks the token, not the epoch", extending(anyEpoch), []string{
		"Extend/another token or epoch is ErrLost and changes nothing",
		"Acquire/the token of an expired row is not returned",
	}},
	{"extend keeps the token", extended(func(r *row, c lease.Claim, _ int64) { r.token = c.Token }), []string{
		"Extend/the next token takes the place of the token, which is ErrLost from then on",
		"Concurrency/of several copies of a claim that extend at the same time one succeeds, the others are ErrLost",
	}},
	{"extend checks the token, then replaces it", faulty{
		extend: func(m *memory, ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
			checked := c
			if token := m.owner(c).Token; token == c.Token {
				checked.Next = token
			}
			now, err := m.Extend(ctx, checked, h, ttl)
			if err == nil && checked.Next != c.Next && lease.ValidateExtension(c, ttl) == nil {
				delay()
				m.changeRow(c, func(r *row) { r.token = c.Next })
			}
			return now, err
		},
	}, []string{
		"Concurrency/of several copies of a claim that extend at the same time one succeeds, the others are ErrLost",
	}},
	{"extend does not know the next token", extending(func(m *memory, c lease.Claim) lease.Claim {
		if m.owner(c).Token == c.Next {
			c.Epoch = -1
		}
		return c
	}), []string{"Extend/the same extension many times in a row is never lost"}},
	{"extend takes any next token", extending(func(_ *memory, c lease.Claim) lease.Claim {
		if lease.ValidateExtension(c, long) != nil {
			c.Next = c.Token
		}
		return c
	}), []string{"Input/bad requests are ErrOption and change nothing"}},
	{"extend lowers the horizon", extended(func(r *row, _ lease.Claim, h int64) { r.horizon = h }), []string{
		"Extend/the horizon is raised, visible to all, and never lowered",
	}},
	{"extend fails once the expiry has passed", extending(func(m *memory, c lease.Claim) lease.Claim {
		m.changeRow(c, func(r *row) {
			if !r.held(m.now()) {
				c.Epoch = -1
			}
		})
		return c
	}), []string{"Extend/it still succeeds after the expiry, before a takeover"}},
	{"release lowers below what was asked", releasesTo(func(was, asked int64) int64 { return min(was, asked-1) }), []string{
		"Release/the worker is free at once, and keeps its epoch and a horizon equal to the one asked for",
		"Release/the horizon is lowered to the one asked for, at least 0, and the next owner starts there",
		"Concurrency/what owners may use of a worker never overlaps",
	}},
	{"release keeps the horizon", releasesTo(func(was, _ int64) int64 { return was }), []string{
		"Release/the horizon is lowered to the one asked for, at least 0, and the next owner starts there",
	}},
	{"release raises the horizon", releasesTo(func(_, asked int64) int64 { return asked }), []string{
		"Release/the horizon is never raised",
	}},
	{"release takes a negative horizon", releasesTo(func(was, asked int64) int64 { return min(was, asked) }), []string{
		"Release/the horizon is lowered to the one asked for, at least 0, and the next owner starts there",
	}},
	{"release does not know the next token", releasing(func(_ *memory, c lease.Claim) lease.Claim {
		c.Next = ""
		return c
	}), []string{
		"Release/the owner of an extension whose reply was lost releases, and so does that of one that never came",
	}},
	{"release without owner check", releasing(anybody), []string{
		"Release/after a takeover it is ErrLost and changes nothing",
		"Release/another token or epoch is ErrLost and changes nothing",
	}},
	{"release checks the token, not the epoch", releasing(anyEpoch), []string{
		"Release/another token or epoch is ErrLost and changes nothing",
	}},
	{"takeover starts at 0", startsAt(func(lease.Request) int64 { return 0 }), []string{
		"Acquire/a takeover raises the epoch by one and starts at the horizon of the earlier owner",
		"Concurrency/what owners may use of a worker never overlaps",
	}},
	{"takeover starts at now", startsAt(func(r lease.Request) int64 { return r.Tick }), []string{
		"Acquire/a takeover raises the epoch by one and starts at the horizon of the earlier owner",
	}},
	{"takeover returns a horizon read before", faulty{
		acquire: func(m *memory, ctx context.Context, r lease.Request) (lease.Grant, error) {
			before := map[int64]int64{}
			m.change(r.Namespace, func(worker int64, r *row) { before[worker] = r.horizon })
			delay()
			grant, err := m.Acquire(ctx, r)
			if err == nil {
				grant.Horizon = before[grant.Worker]
			}
			return grant, err
		},
	}, []string{"Concurrency/what owners may use of a worker never overlaps"}},
	{"takeover keeps the epoch", faulty{
		acquire: func(m *memory, ctx context.Context, r lease.Request) (lease.Grant, error) {
			grant, err := m.Acquire(ctx, r)
			if err == nil {
				m.changeRow(grant.Claim, func(r *row) { r.epoch = 1 })
			}
			grant.Epoch = 1
			return grant, err
		},
	}, []string{"Acquire/a takeover raises the epoch by one and starts at the horizon of the earlier owner"}},
	{"expiry ignored: held workers are taken", asking(func(m *memory, r *lease.Request) {
		m.change(r.Namespace, func(_ int64, found *row) {
			if found.token != r.Token {
				found.expires = time.Time{}
			}
		})
	}), []string{
		"Acquire/a held worker is lent to nobody else",
		"Acquire/if all are held it is a NoWorkerError with the wait until the first expiry",
	}},
	{"expiry ignored: none is ever free again", faulty{memory: stopped()}, []string{
		"Acquire/after the expiry the worker is free",
	}},
	{"token not honoured", faulty{
		acquire: func(m *memory, ctx context.Context, r lease.Request) (lease.Grant, error) {
			token := r.Token
			if r.Validate() == nil {
				r.Token = NewToken()
			}
			grant, err := m.Acquire(ctx, r)
			if err == nil {
				m.changeRow(grant.Claim, func(r *row) { r.token = token })
			}
			grant.Token = token
			return grant, err
		},
	}, []string{"Acquire/the same token returns the same grant: the reply was lost"}},
	{"token of an expired row returned", asking(func(m *memory, r *lease.Request) {
		m.change(r.Namespace, func(_ int64, found *row) {
			if found.token == r.Token {
				found.expires = m.now().Add(r.TTL)
			}
		})
	}), []string{"Acquire/the token of an expired row is not returned"}},
	{"layout not checked", asking(func(_ *memory, r *lease.Request) {
		if r.Layout != "" {
			r.Layout = "any"
		}
	}), []string{"Acquire/another layout is refused without a change"}},
	{"tick not looked at", asking(func(_ *memory, r *lease.Request) { r.Tick = math.MaxInt64 }), []string{
		"Order/numbers that were never taken come before a horizon above the tick",
		"Order/a horizon above the tick comes last, however long it has been free",
	}},
	{"tokens listed", faulty{
		list: func(m *memory, ctx context.Context, namespace string) ([]lease.Entry, error) {
			entries, err := m.List(ctx, namespace)
			for i, e := range entries {
				entries[i].Token = m.owner(e.Claim).Token
			}
			return entries, err
		},
	}, []string{"List/each row shows all but the token, in the order of the workers"}},
}

// stopped returns a store whose clock stands still.
func stopped() *memory {
	start := time.Now()
	return newMemory(func() time.Time { return start })
}

const faultVariable = "LEASETEST_FAULT"

// TestStoreWithAFault is run by the test below, in its own process in which it must fail.
func TestStoreWithAFault(t *testing.T) {
	name, ok := os.LookupEnv(faultVariable)
	if !ok {
		t.Skip("only with " + faultVariable + ", for TestSuiteFailsForABrokenStore")
	}
	settings := Settings{}
	for _, fault := range faults {
		if fault.name != name {
			continue
		}
		if len(fault.caught) > 0 {
			settings.Patience = 200 * time.Millisecond // it waits for what never happens
		}
		Run(t, func(*testing.T) lease.Store {
			store := fault.store
			if store.memory == nil {
				store.memory = newMemory(nil)
			}
			return store
		}, settings)
	}
}

func TestSuiteFailsForABrokenStore(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		out []byte
		err error
	}
	results := make([]result, len(faults))
	turns := make(chan struct{}, 8) // the processes wait, most of the time
	var wg sync.WaitGroup
	for i, fault := range faults {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestStoreWithAFault$", "-test.v", "-test.timeout=9m")
			cmd.Env = append(os.Environ(), faultVariable+"="+fault.name, "GORACE=atexit_sleep_ms=0") // which is a second otherwise
			results[i].out, results[i].err = cmd.CombinedOutput()
		})
	}
	wg.Wait()
	for i, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			out, err := results[i].out, results[i].err
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if (err == nil) != (len(fault.caught) == 0) || !strings.Contains(string(out), "=== RUN   TestStoreWithAFault/List") {
				t.Fatalf("the run ended with %v:\n%s", err, out)
			}
			for _, name := range fault.caught {
				if !strings.Contains(string(out), "--- FAIL: TestStoreWithAFault/"+strings.ReplaceAll(name, " ", "_")+" ") {
					t.Errorf("%s did not fail", name)
				}
			}
		})
	}
}
