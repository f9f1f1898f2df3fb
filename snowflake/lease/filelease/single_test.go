package filelease_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func TestStateFileHasOneOwnerAndKeepsItsHorizon(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "below", "worker.json")
	a, b := newStateFile(t, path), newStateFile(t, path)
	g := acquire(t, a, workerRequest(1, 3))
	if again := acquire(t, a, workerRequest(1, 3)); again.Claim != g.Claim {
		t.Errorf("the same token: got %+v", again)
	}
	listed := func(s leasestore.Store, namespace, want string) {
		t.Helper()
		entries, err := s.List(t.Context(), namespace)
		got := ""
		for _, e := range entries {
			got += fmt.Sprintf("%d %v%s", e.Worker, e.Held, e.Token) //nolint:perfsprint // at most one
		}
		if err != nil || got != want {
			t.Errorf("List of %q: got %s, %v, want %s", namespace, got, err, want)
		}
	}
	for _, s := range []leasestore.Store{a, b} {
		r := workerRequest(2, 3)
		for _, last := range []int64{3, math.MaxInt64} { // a file has no other worker to look for
			r.Last = last
			if _, err := s.Acquire(t.Context(), r); !errors.Is(err, lease.ErrNoWorker) {
				t.Errorf("got %v, want ErrNoWorker", err)
			}
		}
		listed(s, "", "3 true")
	}
	release(t, a, g.Claim)
	listed(b, "orders", "3 false")
	listed(b, "bills", "")
	next := acquire(t, b, workerRequest(2, 3))
	if err := a.Release(t.Context(), g.Claim, math.MaxInt64); !errors.Is(err, lease.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	extend(t, b, next.Claim, 5000)
	if err := b.Close(); err != nil { // as a crash
		t.Fatal(err)
	}
	if g := acquire(t, a, workerRequest(3, 3)); g.Worker != 3 || g.Epoch != 3 || g.Horizon != 5000 { // the clock stands at 1000 again
		t.Errorf("got %+v, want epoch 3 and horizon 5000", g)
	}
}

func TestStateFileRefusesWhatItIsNotFor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "worker.json")
	f := newStateFile(t, path)
	if _, err := f.Acquire(t.Context(), fileRequest(1, 1023)); !errors.Is(err, lease.ErrOption) {
		t.Errorf("many workers at first: got %v, want ErrOption", err)
	}
	release(t, f, acquire(t, f, workerRequest(1, 12)).Claim)
	for name, tc := range map[string]struct {
		change func(*leasestore.Request)
		want   error
	}{
		"another worker":    {func(r *leasestore.Request) { r.First, r.Last = 13, 13 }, lease.ErrOption},
		"another namespace": {func(r *leasestore.Request) { r.Namespace = "x" }, lease.ErrOption},
		"another layout":    {func(r *leasestore.Request) { r.Layout = "x" }, lease.ErrLayout},
		"no token":          {func(r *leasestore.Request) { r.Token = "" }, lease.ErrOption},
		"a range":           {func(r *leasestore.Request) { r.First, r.Last = 0, 1023 }, nil},
	} {
		r := workerRequest(2, 12)
		tc.change(&r)
		g, err := f.Acquire(t.Context(), r)
		if !errors.Is(err, tc.want) || (tc.want != nil) != (err != nil) {
			t.Errorf("%s: got %v, want %v", name, err, tc.want)
		}
		if err == nil {
			release(t, f, g.Claim)
		}
	}
}

func TestStateFileRefusesADamagedFileAndNamesIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "worker.json")
	f := newStateFile(t, path)
	release(t, f, acquire(t, f, workerRequest(1, 12)).Claim)
	refused := func(what string, list error) {
		t.Helper()
		_, err := f.Acquire(t.Context(), workerRequest(2, 12))
		if !errors.Is(err, lease.ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want ErrDamaged", what, err)
		}
		if entries, err := f.List(t.Context(), ""); !errors.Is(err, list) || list == nil && err != nil || len(entries) != 0 {
			t.Errorf("%s: List: got %v, %v, want %v", what, entries, err, list)
		}
	}
	if err := os.Truncate(path, 20); err != nil {
		t.Fatal(err)
	}
	refused("cut off", lease.ErrDamaged)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refused("gone", nil)
}

// TestAReservationOutlivesItsProcess closes the store, as the end of the process would.
func TestAReservationOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	century := workerRequest(1, 1)
	century.TTL, century.Holder.Host = 100*365*24*time.Hour, "reserved for orders"
	first := newFile(t, dir)
	claim := acquire(t, first, century).Claim
	for _, before := range []bool{true, false} {
		if !before {
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
		}
		second := newFile(t, dir)
		if again := acquire(t, second, century).Claim; again != claim {
			t.Errorf("another process has %+v, want %+v", again, claim)
		}
		other := century
		other.Token = fileRequest(2, 1).Token
		if _, err := second.Acquire(t.Context(), other); !errors.Is(err, lease.ErrNoWorker) {
			t.Errorf("another token: %v, want ErrNoWorker", err)
		}
		if entries, err := second.List(t.Context(), claim.Namespace); err != nil || len(entries) != 1 || !entries[0].Reserved() {
			t.Errorf("%+v, %v, want a reservation", entries, err)
		}
		if !before { // given back, it is a worker like any other
			if err := second.Release(t.Context(), claim, 0); err != nil {
				t.Fatal(err)
			}
			other.TTL = time.Second
			if grant := acquire(t, newFile(t, dir), other); grant.Worker != 1 || grant.Epoch != 2 {
				t.Errorf("after the release: %+v", grant)
			}
		}
	}
}
