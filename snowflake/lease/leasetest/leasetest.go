// Package leasetest tests whether a leasestore.Store keeps what that interface promises:
//
//	func TestStore(t *testing.T) {
//		open := func(t *testing.T) leasestore.Store { return mystore.New(newDatabase(t)) }
//		leasetest.Run(t, open, leasetest.Settings{})
//	}
//
// [lease.NewMemory] is a store that passes it.
package leasetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// Settings says what a store can't do. The zero value is right for a store on a server.
type Settings struct {
	// NoExpiry is for stores whose workers become free with the end of their process and not at a time. The tests of an
	// expiry are left out, and other tests that need a free worker release one.
	NoExpiry bool

	// Require marks a namespace that is in use, as a version of the module would do that knows version 2 of the
	// protocol, or 3 if the store knows 2, and needs to keep out the versions that do not. Calls then return a
	// *lease.VersionError. Without it that promise is not tested.
	Require func(tb testing.TB, store leasestore.Store, namespace string)
}

// Run runs the suite, a subtest for each promise of [leasestore.Store]. It calls open for each subtest. open may return
// the same store or different ones, on the same data or on new data, since each subtest uses its own namespaces, with
// random names that begin with "leasetest-". Use t.Cleanup to close or remove what open creates. Subtests do not run in
// parallel; one of them uses 40 goroutines.
func Run(t *testing.T, open func(t *testing.T) leasestore.Store, settings Settings) {
	t.Helper()
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			for _, test := range group.tests {
				if test.expiry && settings.NoExpiry {
					continue
				}

				t.Run(test.promise, func(t *testing.T) {
					test.run(&fixture{
						TB: t, store: open(t), namespace: "leasetest-" + NewToken(), settings: settings,
						patience: 2 * time.Minute,
					})
				})
			}
		})
	}
}

var groups = []struct {
	name  string
	tests []test
}{
	{"Acquire", acquireTests},
	{"Order", orderTests},
	{"Extend", extendTests},
	{"Release", releaseTests},
	{"List", listTests},
	{"Concurrency", concurrencyTests},
	{"Input", inputTests},
	{"Later", laterTests},
}

type test struct {
	promise string
	expiry  bool // needs a store with an expiry
	run     func(f *fixture)
}

const (
	layout = "time:41 worker:10 sequence:12"
	tick   = 1_000_000             // of all requests unless a test sets another
	long   = time.Hour             // does not expire during a test
	brief  = 30 * time.Millisecond // expires during a test; if the store is slower the test proves less
	pause  = 20 * time.Millisecond // separates two expiries in any unit that a store keeps
)

var holder = leasestore.Holder{Host: "a.example.com", PID: 4711, Version: "v1.2.3"}

// NewToken returns a new random token for a [leasestore.Request].
func NewToken() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }

// fixture is a test with a store and its own namespace in it.
type fixture struct {
	testing.TB
	store     leasestore.Store
	namespace string
	settings  Settings
	patience  time.Duration // of a wait for an event
}

// request asks for one of the workers for a long time, with a new token.
func (f *fixture) request(first, last int64) leasestore.Request {
	return leasestore.Request{
		Namespace: f.namespace, Layout: layout, First: first, Last: last,
		Token: NewToken(), TTL: long, Tick: tick, Holder: holder,
	}
}

// acquire returns the grant with a next token, so that the claim holds before its first extension and after it.
func (f *fixture) acquire(r leasestore.Request) leasestore.Grant {
	f.Helper()
	grant, err := f.store.Acquire(f.Context(), r)
	if err != nil {
		f.Fatalf("Acquire of workers %d to %d: %v", r.First, r.Last, err)
	}
	isAnswer := grant.Namespace == r.Namespace && grant.Token == r.Token && grant.Next == ""
	isInRange := r.First <= grant.Worker && grant.Worker <= r.Last
	if !isAnswer || !isInRange {
		f.Fatalf("Acquire(%+v)\nreturned the claim %+v of another namespace, token or range, or with a next token",
			r, grant.Claim)
	}

	grant.Next = NewToken()
	return grant
}

// take acquires one of the workers.
func (f *fixture) take(first, last int64) leasestore.Grant {
	f.Helper()
	return f.acquire(f.request(first, last))
}

// wantWorker acquires one of the workers and checks its number.
func (f *fixture) wantWorker(first, last, want int64) {
	f.Helper()
	if grant := f.take(first, last); grant.Worker != want {
		f.Fatalf("Acquire of workers %d to %d returned %d, want %d", first, last, grant.Worker, want)
	}
}

// only is the worker of tests that need one.
const only = 7

// wantGrant acquires the only worker and checks its epoch and horizon.
func (f *fixture) wantGrant(epoch, horizon int64) leasestore.Grant {
	f.Helper()
	grant := f.take(only, only)
	if grant.Epoch != epoch || grant.Horizon != horizon {
		f.Fatalf("Acquire of worker %d returned epoch %d, horizon %d, want %d, %d",
			only, grant.Epoch, grant.Horizon, epoch, horizon)
	}
	return grant
}

// wantNone checks that none of the workers is free, and returns the error.
func (f *fixture) wantNone(first, last int64) lease.NoWorkerError {
	f.Helper()
	grant, err := f.store.Acquire(f.Context(), f.request(first, last))
	var none *lease.NoWorkerError
	if !errors.As(err, &none) || !errors.Is(err, lease.ErrNoWorker) {
		f.Fatalf("Acquire of workers %d to %d, which are held, returned %+v and error %v; want a *NoWorkerError",
			first, last, grant.Claim, err)
	}
	return *none
}

func (f *fixture) extend(c leasestore.Claim, horizon int64, ttl time.Duration) time.Time {
	f.Helper()
	now, err := f.store.Extend(f.Context(), c, horizon, ttl)
	if err != nil {
		f.Fatalf("Extend of worker %d, epoch %d: %v", c.Worker, c.Epoch, err)
	}
	return now
}

// release frees the worker and keeps its horizon.
func (f *fixture) release(c leasestore.Claim) {
	f.Helper()
	f.giveBack(c, math.MaxInt64)
}

// giveBack frees the worker and lowers its horizon.
func (f *fixture) giveBack(c leasestore.Claim, horizon int64) {
	f.Helper()
	if err := f.store.Release(f.Context(), c, horizon); err != nil {
		f.Fatalf("Release of worker %d, epoch %d: %v", c.Worker, c.Epoch, err)
	}
}

func (f *fixture) list(namespace string) []leasestore.Entry {
	f.Helper()
	entries, err := f.store.List(f.Context(), namespace)
	if err != nil {
		f.Fatalf("List(%q): %v", namespace, err)
	}
	return entries
}

// entry returns the worker's row.
func (f *fixture) entry(worker int64) leasestore.Entry {
	f.Helper()
	for _, e := range f.list(f.namespace) {
		if e.Worker == worker {
			return e
		}
	}
	f.Fatalf("List(%q) has no worker %d", f.namespace, worker)
	return leasestore.Entry{}
}

// waitFree waits until the worker's expiry has passed.
func (f *fixture) waitFree(worker int64) {
	f.Helper()
	for deadline := time.Now().Add(f.patience); f.entry(worker).Held; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			f.Fatalf("worker %d has not expired after %v", worker, f.patience)
		}
	}
}

// free waits until the claim expires, or releases it if the store has no expiry.
func (f *fixture) free(c leasestore.Claim) {
	f.Helper()
	if f.settings.NoExpiry {
		f.release(c)
		return
	}
	f.extend(c, 0, brief)
	f.waitFree(c.Worker)
}

// takeOver lets another owner take the worker of the claim.
func (f *fixture) takeOver(c leasestore.Claim) leasestore.Grant {
	f.Helper()
	f.free(c)
	return f.take(c.Worker, c.Worker)
}

// wantErr checks the error of a call.
func (f *fixture) wantErr(call string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("%s: error %v, want %v", call, err, want)
	}
}

// errOf returns the error of a call whose result does not matter.
func errOf[T any](_ T, err error) error { return err }

// wantLost checks that the claim can be neither extended nor released: both calls return ErrLost and change nothing.
func (f *fixture) wantLost(c leasestore.Claim, what string) {
	f.Helper()
	before := f.list(f.namespace)
	f.wantErr("Extend by "+what, errOf(f.store.Extend(f.Context(), c, 5000, 9*long)), lease.ErrLost)
	for _, c.Next = range []string{c.Next, ""} {
		f.wantErr("Release by "+what, f.store.Release(f.Context(), c, 0), lease.ErrLost)
	}
	f.wantRows("Extend and Release by "+what, before)
}

// wantRows checks that the rows are those from before.
func (f *fixture) wantRows(what string, before []leasestore.Entry) {
	f.Helper()
	if after := f.list(f.namespace); !slices.EqualFunc(before, after, sameEntry) {
		f.Errorf("%s: the rows were\n%+v\nand are now\n%+v", what, before, after)
	}
}

// wantRow checks what List says about the only worker.
func (f *fixture) wantRow(horizon int64, held bool) {
	f.Helper()
	if e := f.entry(only); e.Horizon != horizon || e.Held != held {
		f.Fatalf("worker %d has horizon %d, held: %t; want %d, %t", only, e.Horizon, e.Held, horizon, held)
	}
}

func sameEntry(a, b leasestore.Entry) bool {
	sameExpiry := a.Expires.Equal(b.Expires)
	a.Expires, b.Expires = time.Time{}, time.Time{}
	return sameExpiry && a == b
}
