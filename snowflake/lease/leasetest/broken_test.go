package leasetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// faults are stores with one fault each, and the subtests that must fail for them.
var faults = []struct {
	name   string
	open   func() lease.Store
	caught []string // subtests that must fail; others may
}{
	{"none", func() lease.Store { return NewMemory(nil) }, nil},
	{"extend without owner check", func() lease.Store { return extendsForAnybody{newMemory(nil)} }, []string{
		"Extend/after a takeover it is always ErrLost and changes nothing",
		"Extend/another token or epoch is ErrLost and changes nothing",
		"Concurrency/what owners may use of a worker never overlaps",
	}},
	{"extend checks the token, not the epoch", func() lease.Store { return ignoresEpoch{newMemory(nil)} }, []string{
		"Extend/another token or epoch is ErrLost and changes nothing",
		"Acquire/the token of an expired row is not returned",
	}},
	{"extend keeps the token", func() lease.Store { return keepsToken{newMemory(nil)} }, []string{
		"Extend/the next token takes the place of the token, which is ErrLost from then on",
		"Concurrency/of several copies of a claim that extend at the same time one succeeds, the others are ErrLost",
	}},
	{"extend checks the token, then replaces it", func() lease.Store { return replacesLater{newMemory(nil)} }, []string{
		"Concurrency/of several copies of a claim that extend at the same time one succeeds, the others are ErrLost",
	}},
	{"extend does not know the next token", func() lease.Store { return forgetsNext{newMemory(nil)} }, []string{
		"Extend/the same extension many times in a row is never lost",
	}},
	{"extend takes any next token", func() lease.Store { return takesAnyNext{newMemory(nil)} }, []string{
		"Input/bad requests are ErrOption and change nothing",
	}},
	{"extend lowers the horizon", func() lease.Store { return lowersOnExtend{newMemory(nil)} }, []string{
		"Extend/the horizon is never lowered",
	}},
	{"extend fails once the expiry has passed", func() lease.Store { return losesOnExpiry{newMemory(nil)} }, []string{
		"Extend/it still succeeds after the expiry, before a takeover",
	}},
	{"release lowers below what was asked", func() lease.Store {
		return releasesTo{newMemory(nil), func(was, asked int64) int64 { return min(was, asked-1) }}
	}, []string{
		"Release/the worker is free at once, and keeps its epoch and a horizon equal to the one asked for",
		"Release/the horizon is lowered to the one asked for, and the next owner starts there",
		"Concurrency/what owners may use of a worker never overlaps",
	}},
	{"release keeps the horizon", func() lease.Store {
		return releasesTo{newMemory(nil), func(was, _ int64) int64 { return was }}
	}, []string{"Release/the horizon is lowered to the one asked for, and the next owner starts there"}},
	{"release raises the horizon", func() lease.Store {
		return releasesTo{newMemory(nil), func(_, asked int64) int64 { return asked }}
	}, []string{"Release/the horizon is never raised"}},
	{"release takes a negative horizon", func() lease.Store {
		return releasesTo{newMemory(nil), func(was, asked int64) int64 { return min(was, asked) }}
	}, []string{"Release/a negative horizon is 0"}},
	{"release does not know the next token", func() lease.Store { return releaseForgetsNext{newMemory(nil)} }, []string{
		"Release/the owner of an extension whose reply was lost releases, and so does that of one that never came",
	}},
	{"release without owner check", func() lease.Store { return releasesForAnybody{newMemory(nil)} }, []string{
		"Release/after a takeover it is ErrLost and changes nothing",
		"Release/another token or epoch is ErrLost and changes nothing",
	}},
	{"release checks the token, not the epoch", func() lease.Store { return releaseIgnoresEpoch{newMemory(nil)} }, []string{
		"Release/another token or epoch is ErrLost and changes nothing",
	}},
	{"takeover starts at 0", func() lease.Store {
		return startsAt{newMemory(nil), func(lease.Request) int64 { return 0 }}
	}, []string{
		"Acquire/a takeover starts at the horizon of the earlier owner",
		"Concurrency/what owners may use of a worker never overlaps",
	}},
	{"takeover starts at now", func() lease.Store {
		return startsAt{newMemory(nil), func(r lease.Request) int64 { return r.Tick }}
	}, []string{"Acquire/a takeover starts at the horizon of the earlier owner"}},
	{"takeover returns a horizon read before", func() lease.Store { return readsBefore{newMemory(nil)} }, []string{
		"Concurrency/what owners may use of a worker never overlaps",
	}},
	{"takeover keeps the epoch", func() lease.Store { return keepsEpoch{newMemory(nil)} }, []string{
		"Acquire/each takeover raises the epoch by one",
	}},
	{"expiry ignored: held workers are taken", func() lease.Store { return takesHeld{newMemory(nil)} }, []string{
		"Acquire/a held worker is lent to nobody else",
		"Acquire/if all are held it is a NoWorkerError with the wait until the first expiry",
	}},
	{"expiry ignored: none is ever free again", func() lease.Store {
		start := time.Now()
		return NewMemory(func() time.Time { return start })
	}, []string{"Acquire/after the expiry the worker is free"}},
	{"token not honoured", func() lease.Store { return ignoresToken{newMemory(nil)} }, []string{
		"Acquire/the same token returns the same grant: the reply was lost",
	}},
	{"token of an expired row returned", func() lease.Store { return honoursExpired{newMemory(nil)} }, []string{
		"Acquire/the token of an expired row is not returned",
	}},
	{"layout not checked", func() lease.Store { return ignoresLayout{newMemory(nil)} }, []string{
		"Acquire/another layout is refused without a change",
	}},
	{"tick not looked at", func() lease.Store { return ignoresTick{newMemory(nil)} }, []string{
		"Order/numbers that were never taken come before a horizon above the tick",
		"Order/a horizon above the tick comes last, however long it has been free",
	}},
	{"tokens listed", func() lease.Store { return showsTokens{newMemory(nil)} }, []string{
		"List/each row shows all but the token, in the order of the workers",
	}},
}

const faultVariable = "LEASETEST_FAULT"

// TestStoreWithAFault is run by the test below, in a process of its own in which it must fail.
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
		Run(t, func(*testing.T) lease.Store { return fault.open() }, settings)
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

// row returns the row of the claim's worker whoever owns it, nil if there is none.
func (m *memory) row(c lease.Claim) *row {
	if ns := m.namespaces[c.Namespace]; ns != nil {
		return ns.rows[c.Worker]
	}
	return nil
}

// owner is the claim of whoever has the worker now, with the next token of c.
func (m *memory) owner(c lease.Claim) lease.Claim {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.row(c); r != nil {
		c.Epoch, c.Token = r.epoch, r.token
	}
	return c
}

// rowsOf runs change on each row of the namespace.
func (m *memory) rowsOf(namespace string, change func(worker int64, r *row)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ns := m.namespaces[namespace]; ns != nil {
		for worker, r := range ns.rows {
			change(worker, r)
		}
	}
}

type extendsForAnybody struct{ *memory }

func (s extendsForAnybody) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	return s.memory.Extend(ctx, s.owner(c), h, ttl)
}

type releasesForAnybody struct{ *memory }

func (s releasesForAnybody) Release(ctx context.Context, c lease.Claim, h int64) error {
	return s.memory.Release(ctx, s.owner(c), h)
}

type ignoresEpoch struct{ *memory }

func (s ignoresEpoch) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	c.Epoch = s.owner(c).Epoch
	return s.memory.Extend(ctx, c, h, ttl)
}

// setToken gives the row of the claim another token.
func (m *memory) setToken(c lease.Claim, token string) {
	m.rowsOf(c.Namespace, func(worker int64, r *row) {
		if worker == c.Worker {
			r.token = token
		}
	})
}

type keepsToken struct{ *memory }

func (s keepsToken) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	now, err := s.memory.Extend(ctx, c, h, ttl)
	if err == nil {
		s.setToken(c, c.Token)
	}
	return now, err
}

type replacesLater struct{ *memory }

func (s replacesLater) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	checked := c
	if token := s.owner(c).Token; token == c.Token {
		checked.Next = token
	}
	now, err := s.memory.Extend(ctx, checked, h, ttl)
	if err == nil && checked.Next != c.Next && lease.ValidateExtension(c, ttl) == nil {
		for start := time.Now(); time.Since(start) < time.Millisecond; {
			runtime.Gosched() // as long as a database takes
		}
		s.setToken(c, c.Next)
	}
	return now, err
}

type forgetsNext struct{ *memory }

func (s forgetsNext) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	if s.owner(c).Token == c.Next {
		return time.Time{}, lost(c)
	}
	return s.memory.Extend(ctx, c, h, ttl)
}

type takesAnyNext struct{ *memory }

func (s takesAnyNext) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	if lease.ValidateExtension(c, ttl) != nil {
		c.Next = c.Token
	}
	return s.memory.Extend(ctx, c, h, ttl)
}

type lowersOnExtend struct{ *memory }

func (s lowersOnExtend) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	now, err := s.memory.Extend(ctx, c, h, ttl)
	if err == nil {
		s.rowsOf(c.Namespace, func(worker int64, r *row) {
			if worker == c.Worker {
				r.horizon = h
			}
		})
	}
	return now, err
}

type losesOnExpiry struct{ *memory }

func (s losesOnExpiry) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (time.Time, error) {
	s.mu.Lock()
	r := s.row(c)
	expired := r != nil && !r.held(s.now())
	s.mu.Unlock()
	if expired {
		return time.Time{}, lost(c)
	}
	return s.memory.Extend(ctx, c, h, ttl)
}
