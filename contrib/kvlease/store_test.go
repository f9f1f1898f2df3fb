package kvlease_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/kvlease"
	"github.com/sqlflake/sqlflake/internal/checksummed"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

func request(first, last int64) leasestore.Request {
	return leasestore.Request{
		Namespace: "orders", Layout: "time:41 worker:10 sequence:12", First: first, Last: last,
		Token: leasetest.NewToken(), TTL: time.Hour, Tick: 1_000_000, Holder: leasestore.Holder{Host: "a.example.com", PID: 1},
	}
}

func acquire(t *testing.T, store *kvlease.Store, r leasestore.Request) leasestore.Grant {
	t.Helper()
	grant, err := store.Acquire(t.Context(), r)
	must(t, err)
	grant.Next = leasetest.NewToken()
	return grant
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func extend(t *testing.T, store *kvlease.Store, c leasestore.Claim, horizon int64) error {
	t.Helper()
	_, err := store.Extend(t.Context(), c, horizon, time.Hour)
	return err
}

func listError(t *testing.T, store *kvlease.Store, name string) error {
	t.Helper()
	_, err := store.List(t.Context(), name)
	return err
}

func acquireError(t *testing.T, store *kvlease.Store, r leasestore.Request) error {
	t.Helper()
	_, err := store.Acquire(t.Context(), r)
	return err
}

// The engine has written the value, and then fails or returns false.
func TestAWriteThatWasNotConfirmedIsFoundOrRepeated(t *testing.T) {
	for _, fails := range []bool{true, false} {
		kv := newMemory()
		store := open(t, kv)
		var claim leasestore.Claim
		r := request(0, 9)
		for _, step := range []struct {
			writes int
			call   func() error
		}{
			{2, func() error { // of the layout, of the worker
				grant, err := store.Acquire(t.Context(), r)
				claim = grant.Claim
				claim.Next = leasetest.NewToken()
				return err
			}},
			{1, func() error { return extend(t, store, claim, 50) }},
			{1, func() error { return store.Release(t.Context(), claim, 20) }},
		} {
			if fails {
				kv.lose = step.writes
			} else {
				kv.deny = step.writes
			}

			for kv.lose > 0 {
				if err := step.call(); !errors.Is(err, errLostReply) {
					t.Fatalf("error %v, want that of the engine", err)
				}
			}

			must(t, step.call())
		}

		entries, err := store.List(t.Context(), "")
		if err != nil || len(entries) != 1 || entries[0].Held || entries[0].Epoch != 1 || entries[0].Horizon != 20 {
			t.Errorf("%+v, %v; want worker 0 alone, with epoch 1 and horizon 20, given back", entries, err)
		}
	}
}

// Whichever call of the engine fails, the store returns its error, which is no loss. Its lists miss the layout.
func TestNoErrorOfTheEngineIsHidden(t *testing.T) {
	for _, deny := range []int{0, 1} { // with 1 the row is read again
		for failing := 1; ; failing++ {
			kv := newMemory()
			store := open(t, kv)
			claim := acquire(t, store, request(0, 9)).Claim
			kv.torn = true
			gone := claim
			gone.Worker = 5 // has no row, so the layout is confirmed
			reached := false
			for name, call := range map[string]func() error{
				"Acquire": func() error { return acquireError(t, store, request(0, 9)) },
				"Extend":  func() error { return extend(t, store, claim, 5) },
				"gone":    func() error { return extend(t, store, gone, 5) },
				"List":    func() error { return listError(t, store, "") },
			} {
				kv.left, kv.deny = failing, deny
				want := error(nil)
				if name == "gone" {
					want = lease.ErrLost
				}

				err := call()
				if kv.left <= 0 {
					reached, want = true, errDown
				}

				if !errors.Is(err, want) || !errors.Is(want, lease.ErrLost) && errors.Is(err, lease.ErrLost) {
					t.Errorf("%s, call %d fails: error %v, want %v", name, failing, err, want)
				}

				kv.left = 0
			}

			if !reached {
				break
			}
		}
	}
}

// reseal returns an edited value with the right checksum.
func reseal(tb testing.TB, value string) string {
	tb.Helper()
	text, err := checksummed.Marshal(json.RawMessage(value[:strings.LastIndex(value, `,"checksum"`)] + "}"))
	must(tb, err)
	return string(text)
}

func TestValuesThatAreNotAsWrittenLendNothing(t *testing.T) {
	const (
		layout = "orders/layout"
		row    = "orders/0000000000000000003"
	)

	replace := func(before, after string) func(string) string {
		return func(value string) string {
			if !strings.Contains(value, before) {
				t.Fatalf("%q is not in %s", before, value)
			}
			return strings.Replace(value, before, after, 1)
		}
	}

	resealed := func(before, after string) func(string) string {
		return func(value string) string { return reseal(t, replace(before, after)(value)) }
	}

	for _, test := range []struct {
		name, key string
		edit      func(value string) string
	}{
		{"a lower horizon", row, replace(`"horizon":77`, `"horizon":7`)},
		{"a space", row, replace(`,"epoch"`, `, "epoch"`)},
		{"an epoch below 1", row, resealed(`"epoch":1`, `"epoch":0`)},
		{"a horizon below 0", row, resealed(`"horizon":77`, `"horizon":-77`)},
		{"no value", row, func(string) string { return "" }},
		{"a value of another program", row, func(string) string { return `{"port":5432}` }},
		{"another layout", layout, replace("sequence:12", "sequence:11")},
		{"a key of another program", "orders/port", func(string) string { return "5432" }},
		{"a deeper key of another program", "orders/0000000000000000003/x", func(string) string { return "5432" }},
		{"a key that is not canonical", "orders/3", func(string) string { return "5432" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			kv := newMemory()
			store := open(t, kv)
			claim := acquire(t, store, request(3, 3)).Claim
			must(t, extend(t, store, claim, 77))
			kv.put(test.key, test.edit(string(kv.pairs[test.key].Value)))
			checkDamaged(t, kv, store, claim, test.key == row)
		})
	}
}

// checkDamaged requires that no call but those for the claim of another worker succeeds or writes.
func checkDamaged(t *testing.T, kv *memory, store *kvlease.Store, claim leasestore.Claim, own bool) {
	t.Helper()
	before := kv.values()
	errs := map[string]error{
		"Acquire":  acquireError(t, store, request(0, 9)),
		"List":     listError(t, store, "orders"),
		"List all": listError(t, store, ""),
	}

	if own {
		errs["Extend"], errs["Release"] = extend(t, store, claim, 99), store.Release(t.Context(), claim, 0)
	}

	for name, err := range errs {
		if !errors.Is(err, lease.ErrDamaged) {
			t.Errorf("%s: error %v, want ErrDamaged", name, err)
		}
	}

	kv.checkValues(t, before)
}

// checkValues fails if the values are not those from before.
func (m *memory) checkValues(t *testing.T, before map[string]string) {
	t.Helper()
	if after := m.values(); !maps.Equal(before, after) {
		t.Errorf("the values were\n%v\nand are now\n%v", before, after)
	}
}

func TestRowsThatWereMovedOrLostTheirLayoutLendNothing(t *testing.T) {
	kv := newMemory()
	store := open(t, kv)
	claim := acquire(t, store, request(3, 3)).Claim
	value := string(kv.pairs["orders/0000000000000000003"].Value)
	kv.put("orders/0000000000000000004", value)
	checkDamaged(t, kv, store, claim, false)
	delete(kv.pairs, "orders/0000000000000000004")
	kv.put("bills/layout", string(kv.pairs["orders/layout"].Value))
	if err := listError(t, store, "bills"); !errors.Is(err, lease.ErrDamaged) {
		t.Errorf("List of a namespace with the layout of another one: %v, want ErrDamaged", err)
	}

	delete(kv.pairs, "orders/layout")
	checkDamaged(t, kv, store, claim, false)
}

// A store that has known the namespace finds out. One that has not may be the first to create it again.
func TestAfterANamespaceWasDeletedOwnersStartAboveAFloor(t *testing.T) {
	for _, known := range []bool{true, false} {
		kv := newMemory()
		owner := open(t, kv)
		claim := acquire(t, owner, request(0, 9)).Claim
		next := func(store *kvlease.Store) time.Duration {
			t.Helper()
			r := request(0, 9)
			r.Reach = 20 * time.Second
			floor := acquire(t, store, r).Floor
			if floor.IsZero() {
				return 0
			}
			return time.Until(floor)
		}

		if waits := next(open(t, kv)) + next(owner); waits != 0 {
			t.Errorf("before: waits of %v", waits)
		}

		clear(kv.pairs)
		if err := extend(t, owner, claim, 5); !errors.Is(err, lease.ErrLost) {
			t.Errorf("Extend: %v, want ErrLost", err)
		}

		if !known {
			next(open(t, kv))
		}

		for i, store := range []*kvlease.Store{owner, open(t, kv), owner} {
			if wait := next(store); wait < 10*time.Second || wait > 20*time.Second {
				t.Errorf("created again by one that knew it: %t; acquisition %d: a wait of %v, want 20s", known, i, wait)
			}
		}
	}
}

// behind is a replica that does not know new rows until something was written through it.
type behind struct {
	*memory
	written bool
}

func (b *behind) Get(ctx context.Context, key string) (kvlease.Pair, error) {
	if !b.written && key != "orders/layout" {
		return kvlease.Pair{}, nil
	}
	return b.memory.Get(ctx, key)
}

func (b *behind) Swap(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	b.written = true
	return b.memory.Swap(ctx, key, value, revision)
}

func TestAReadThatDoesNotKnowTheRowLosesNoWorker(t *testing.T) {
	kv := newMemory()
	claim := acquire(t, open(t, kv), request(0, 9)).Claim
	must(t, extend(t, open(t, &behind{memory: kv}), claim, 5))
	must(t, open(t, &behind{memory: kv}).Release(t.Context(), claim, 5))
	before := kv.values()
	delete(before, "orders/0000000000000000000")
	delete(kv.pairs, "orders/0000000000000000000")
	if err := extend(t, open(t, kv), claim, 6); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Extend of a row that was deleted: %v, want ErrLost", err)
	}
	kv.checkValues(t, before)
}

func TestAReleasedWorkerIsFreeWhateverTheClocks(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		kv := newMemory()
		wrong := open(t, kv)
		wrong.SetClock(func() time.Time { return time.Now().Add(ahead) })
		claim := acquire(t, wrong, request(7, 7)).Claim
		must(t, wrong.Release(t.Context(), claim, 5))
		before := kv.values()
		must(t, wrong.Release(t.Context(), claim, 5))
		kv.checkValues(t, before)
		if grant, err := open(t, kv).Acquire(t.Context(), request(7, 7)); err != nil || grant.Epoch != 2 {
			t.Errorf("ahead by %v: %+v, %v; want epoch 2", ahead, grant, err)
		}
	}
}

// 250 callers have all read the same rows when they swap for the first time. Without a choice at random each one would
// meet a conflict at each worker.
func TestACrowdMeetsFewConflicts(t *testing.T) {
	const callers = 250
	kv := newMemory()
	store := open(t, &together{memory: kv, expect: callers})
	acquire(t, open(t, kv), request(1000, 1000)) // writes the layout
	kv.reads, kv.swaps, kv.conflicts = 0, 0, 0
	var workers sync.Map
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			grant, err := store.Acquire(t.Context(), request(0, 1023))
			if _, taken := workers.LoadOrStore(grant.Worker, true); err != nil || taken {
				t.Errorf("worker %d, taken before: %t, error %v", grant.Worker, taken, err)
			}
		})
	}

	wg.Wait()
	if calls := kv.reads + kv.swaps; calls > 8*callers {
		t.Errorf("%d callers have made %d calls", callers, calls)
	}

	kv.conflicts = 0
	store = open(t, &together{memory: kv, expect: 2}) // for one worker: the loser does not swap the same value again
	for range 2 {
		wg.Go(func() { _ = acquireError(t, store, request(2000, 2000)) })
	}

	wg.Wait()
	if kv.conflicts != 1 {
		t.Errorf("two callers for one worker met %d conflicts, want 1", kv.conflicts)
	}
}

func TestOfTwoLayoutsAtOnceOneIsLent(t *testing.T) {
	store := open(t, &together{memory: newMemory(), expect: 2})
	errs := make(chan error)
	for _, layout := range []string{"time:41 worker:10 sequence:12", "time:41 worker:8 sequence:14"} {
		r := request(0, 9)
		r.Layout = layout
		go func() { errs <- acquireError(t, store, r) }()
	}
	if a, b := <-errs, <-errs; (a == nil) == (b == nil) || !errors.Is(errors.Join(a, b), lease.ErrLayout) {
		t.Errorf("errors %v and %v, want one ErrLayout", a, b)
	}
}

// together holds the first lists back until all callers have made theirs.
type together struct {
	*memory
	mu     sync.Mutex
	expect int
	all    chan struct{}
}

func (x *together) List(ctx context.Context, prefix string) ([]kvlease.Pair, error) {
	pairs, err := x.memory.List(ctx, prefix)
	x.mu.Lock()
	if x.all == nil {
		x.all = make(chan struct{})
	}
	if x.expect--; x.expect == 0 {
		close(x.all)
	}
	x.mu.Unlock()
	<-x.all
	return pairs, err
}
