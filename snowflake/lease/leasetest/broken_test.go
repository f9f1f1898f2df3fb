package leasetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// A suite that passes anything proves nothing. So here are stores with one fault
// each, and the subtests that have to fail for them.
var faults = []struct {
	name   string
	open   func() lease.Store
	caught []string // subtests that must fail, as they are printed; others may
}{
	{"none", func() lease.Store { return NewMemory(nil) }, nil},
	{"extend without owner check", func() lease.Store { return extendsForAnybody{newMemory(nil)} }, []string{
		"Extend/after_a_takeover_it_is_ErrLost,_for_good,_and_changes_nothing",
		"Extend/another_token_or_epoch_is_ErrLost_and_changes_nothing",
		"Concurrency/what_owners_may_use_of_a_worker_never_overlaps",
	}},
	{"extend checks the token, not the epoch", func() lease.Store { return ignoresEpoch{newMemory(nil)} }, []string{
		"Extend/another_token_or_epoch_is_ErrLost_and_changes_nothing",
		"Acquire/the_token_of_an_expired_row_is_not_returned",
	}},
	{"extend lowers the horizon", func() lease.Store { return lowersOnExtend{newMemory(nil)} }, []string{
		"Extend/the_horizon_is_never_lowered",
	}},
	{"extend fails once the expiry has passed", func() lease.Store { return losesOnExpiry{newMemory(nil)} }, []string{
		"Extend/an_expiry_that_has_passed_is_no_obstacle_before_a_takeover",
	}},
	{"release lowers below what was asked", func() lease.Store {
		return releasesTo{newMemory(nil), func(was, asked int64) int64 { return min(was, asked-1) }}
	}, []string{
		"Release/the_worker_is_free_at_once,_and_keeps_its_epoch_and_a_horizon_that_is_as_asked",
		"Release/the_horizon_is_lowered_to_what_is_asked,_and_the_next_owner_starts_there",
		"Concurrency/what_owners_may_use_of_a_worker_never_overlaps",
	}},
	{"release keeps the horizon", func() lease.Store {
		return releasesTo{newMemory(nil), func(was, _ int64) int64 { return was }}
	}, []string{"Release/the_horizon_is_lowered_to_what_is_asked,_and_the_next_owner_starts_there"}},
	{"release raises the horizon", func() lease.Store {
		return releasesTo{newMemory(nil), func(_, asked int64) int64 { return asked }}
	}, []string{"Release/the_horizon_is_never_raised"}},
	{"release takes a negative horizon", func() lease.Store {
		return releasesTo{newMemory(nil), func(was, asked int64) int64 { return min(was, asked) }}
	}, []string{"Release/a_negative_horizon_is_0"}},
	{"release without owner check", func() lease.Store { return releasesForAnybody{newMemory(nil)} }, []string{
		"Release/after_a_takeover_it_is_ErrLost_and_changes_nothing",
		"Release/another_token_or_epoch_is_ErrLost_and_changes_nothing",
	}},
	{"release checks the token, not the epoch", func() lease.Store { return releaseIgnoresEpoch{newMemory(nil)} }, []string{
		"Release/another_token_or_epoch_is_ErrLost_and_changes_nothing",
	}},
	{"takeover starts at 0", func() lease.Store {
		return startsAt{newMemory(nil), func(lease.Request) int64 { return 0 }}
	}, []string{
		"Acquire/a_takeover_starts_at_the_horizon_of_the_owner_before",
		"Concurrency/what_owners_may_use_of_a_worker_never_overlaps",
	}},
	{"takeover starts at now", func() lease.Store {
		return startsAt{newMemory(nil), func(r lease.Request) int64 { return r.Tick }}
	}, []string{"Acquire/a_takeover_starts_at_the_horizon_of_the_owner_before"}},
	{"takeover returns a horizon read before", func() lease.Store { return readsBefore{newMemory(nil)} }, []string{
		"Concurrency/what_owners_may_use_of_a_worker_never_overlaps",
	}},
	{"takeover keeps the epoch", func() lease.Store { return keepsEpoch{newMemory(nil)} }, []string{
		"Acquire/each_takeover_raises_the_epoch_by_one",
	}},
	{"expiry ignored: held workers are taken", func() lease.Store { return takesHeld{newMemory(nil)} }, []string{
		"Acquire/a_held_worker_is_given_to_nobody_else",
		"Acquire/all_held:_a_NoWorkerError_with_the_wait_until_the_first_expiry",
	}},
	{"expiry ignored: none is ever free again", func() lease.Store {
		start := time.Now()
		return NewMemory(func() time.Time { return start })
	}, []string{"Acquire/when_the_expiry_has_passed_the_worker_is_free_by_itself"}},
	{"token not honoured", func() lease.Store { return ignoresToken{newMemory(nil)} }, []string{
		"Acquire/the_same_token_returns_the_same_grant:_the_reply_was_lost",
	}},
	{"token of an expired row returned", func() lease.Store { return honoursExpired{newMemory(nil)} }, []string{
		"Acquire/the_token_of_an_expired_row_is_not_returned",
	}},
	{"layout not checked", func() lease.Store { return ignoresLayout{newMemory(nil)} }, []string{
		"Acquire/another_layout_is_refused_without_a_change",
	}},
	{"tick not looked at", func() lease.Store { return ignoresTick{newMemory(nil)} }, []string{
		"Order/never_taken_numbers_come_before_a_horizon_above_the_tick",
		"Order/a_horizon_above_the_tick_comes_last,_however_long_it_has_been_free",
	}},
	{"tokens listed", func() lease.Store { return showsTokens{newMemory(nil)} }, []string{
		"List/each_row_says_all_but_the_token,_in_the_order_of_the_workers",
	}},
}

const faultVariable = "LEASETEST_FAULT"

// TestStoreWithAFault is run by the test below, in a process of its own where a
// failure is what is wanted.
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
			settings.Patience = 200 * time.Millisecond // it would wait for what never happens
		}
		Run(t, func(*testing.T) lease.Store { return fault.open() }, settings)
	}
}

func TestSuiteFailsForABrokenStore(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestStoreWithAFault$", "-test.v", "-test.timeout=2m")
			cmd.Env = append(os.Environ(), faultVariable+"="+fault.name)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if (err == nil) != (len(fault.caught) == 0) || !strings.Contains(string(out), "=== RUN   TestStoreWithAFault/List") {
				t.Fatalf("the run ended with %v:\n%s", err, out)
			}
			for _, name := range fault.caught {
				if !strings.Contains(string(out), "--- FAIL: TestStoreWithAFault/"+name+" ") {
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

// owner is the claim of whoever has the worker now.
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
