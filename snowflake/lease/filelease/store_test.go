package filelease_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/checksummed"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

const fileLayout = "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12"

// must ends the test after an error that none of its promises is about.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errOf returns the error of a call whose result does not matter.
func errOf[T any](_ T, err error) error { return err }

// wantErr checks that the error is of the kind and names the parts.
func wantErr(t testing.TB, what string, err, kind error, parts ...string) {
	t.Helper()
	isMissing := func(part string) bool { return err != nil && !strings.Contains(err.Error(), part) }
	if !errors.Is(err, kind) || slices.ContainsFunc(parts, isMissing) {
		t.Errorf("%s: %v, want %v with %q", what, err, kind, parts)
	}
}

// wantGrant acquires a worker that has had one owner, and checks what the grant has.
func wantGrant(t testing.TB, s leasestore.Store, r leasestore.Request, worker, horizon int64) {
	t.Helper()
	g := acquire(t, s, r)
	if g.Worker != worker || g.Epoch != 2 || g.Horizon != horizon {
		t.Errorf("%+v, want worker %d, epoch 2, horizon %d", g, worker, horizon)
	}
}

func newFile(t testing.TB, dir string) *filelease.Store {
	t.Helper()
	f, err := filelease.New(dir)
	must(t, err)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// fileRequest asks for one of the first workers; n makes the token.
func fileRequest(n int, last int64) leasestore.Request {
	return leasestore.Request{
		Namespace: "orders", Layout: fileLayout, Last: last, Token: fmt.Sprintf("%032x", n), TTL: time.Second,
		Tick: 1000, Holder: leasestore.Holder{Host: "h", PID: 7, Version: "v1"},
	}
}

// workerRequest asks for one worker.
func workerRequest(n int, worker int64) leasestore.Request {
	r := fileRequest(n, worker)
	r.First = worker
	return r
}

// acquire returns the grant with a next token, so that the claim holds before its first extension and after it.
func acquire(t testing.TB, s leasestore.Store, r leasestore.Request) leasestore.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), r)
	must(t, err)
	g.Next = "f" + g.Token[1:]
	return g
}

func extend(t testing.TB, s leasestore.Store, c leasestore.Claim, horizon int64) {
	t.Helper()
	must(t, extendErr(t, s, c, horizon))
}

func extendErr(t testing.TB, s leasestore.Store, c leasestore.Claim, horizon int64) error {
	t.Helper()
	return errOf(s.Extend(t.Context(), c, horizon, time.Second))
}

func release(t testing.TB, s leasestore.Store, c leasestore.Claim) {
	t.Helper()
	must(t, s.Release(t.Context(), c, math.MaxInt64))
}

func contents(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return text
}

// orders is the folder of that namespace.
var orders = hex.EncodeToString([]byte("orders"))

func stateOf(dir string, worker int64) string {
	return filepath.Join(dir, orders, fmt.Sprintf("%d.json", worker))
}

func TestFileKeepsWhatStorePromises(t *testing.T) {
	var dir string
	leasetest.Run(t, func(t *testing.T) leasestore.Store {
		t.Helper()
		dir = t.TempDir()
		return newFile(t, dir)
	}, leasetest.Settings{
		NoExpiry: true,
		Require:  func(tb testing.TB, _ leasestore.Store, namespace string) { tb.Helper(); require2(tb, dir, namespace) },
	})
}

// require2 does what a later version would do that needs to keep this one out.
func require2(tb testing.TB, dir, namespace string) {
	tb.Helper()
	text, err := checksummed.Marshal(map[string]string{"format": "sqlflake lease file 2", "namespace": namespace})
	must(tb, err)
	write(tb, filepath.Join(dir, hex.EncodeToString([]byte(namespace)), "namespace.json"), text)
}

func write(tb testing.TB, path string, text []byte) {
	tb.Helper()
	must(tb, os.WriteFile(path, text, 0o600))
}

func TestAStateOfALaterVersionIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := stateOf(dir, 0)
	s := newFile(t, dir)
	claim := acquire(t, s, fileRequest(1, 0)).Claim
	write(t, path, resealed(`file 1"`, `file 2"`)(contents(t, path)))
	for _, err := range []error{errOf(s.Acquire(t.Context(), fileRequest(2, 0))), extendErr(t, s, claim, 5)} {
		var later *lease.VersionError
		if !errors.As(err, &later) || errors.Is(err, lease.ErrDamaged) {
			t.Errorf("%v, want a *VersionError", err)
		}
	}
}

func TestStoresOfOneProcessExcludeEachOtherAndGiveBackForEachOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := newFile(t, dir), newFile(t, dir)
	first := acquire(t, a, fileRequest(1, 0))
	extend(t, a, first.Claim, 9)
	for name, s := range map[string]leasestore.Store{"the same Store": a, "another Store": b} {
		wantErr(t, name, errOf(s.Acquire(t.Context(), fileRequest(2, 0))), lease.ErrNoWorker)
	}

	if err := extendErr(t, b, first.Claim, 5); err == nil || errors.Is(err, lease.ErrLost) {
		t.Errorf("a claim of another Store: got %v, want an error that is not final", err)
	}

	release(t, a, first.Claim)
	for _, asked := range []int64{12, 4, 7} { // in the end, the lowest
		must(t, b.Release(t.Context(), first.Claim, asked))
	}

	wantGrant(t, b, fileRequest(2, 0), 0, 4)
	for name, s := range map[string]leasestore.Store{"the old Store": a, "the new Store": b} {
		wantErr(t, name, extendErr(t, s, first.Claim, 5), lease.ErrLost)
	}
}

func TestFileRefusesALayoutThatJSONCannotHold(t *testing.T) {
	t.Parallel()
	r := fileRequest(1, 0)
	r.Layout = "\xff"
	wantErr(t, "Acquire", errOf(newFile(t, t.TempDir()).Acquire(t.Context(), r)), lease.ErrOption)
}

func TestACallWaitsForAnotherProcessAsLongAsItsContextLivesAndAnExtensionDoesNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFile(t, dir)
	c := acquire(t, f, fileRequest(1, 3)).Claim
	unlock, err := filelease.Lock(filepath.Join(dir, "store"))
	must(t, err)
	short, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	wantErr(t, "Acquire", errOf(f.Acquire(short, fileRequest(2, 3))), context.DeadlineExceeded)
	wantErr(t, "List", errOf(f.List(short, "")), context.DeadlineExceeded)
	var waiting sync.WaitGroup
	waiting.Go(func() { wantErr(t, "Acquire in the end", errOf(f.Acquire(t.Context(), fileRequest(2, 3))), nil) })
	waiting.Go(func() { wantErr(t, "List in the end", errOf(f.List(t.Context(), "")), nil) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a busy disk takes seconds
	defer cancel()
	for range 10 {
		time.Sleep(2 * time.Millisecond) // for them to wait
		wantErr(t, "Extend", errOf(f.Extend(ctx, c, 5, time.Second)), nil)
	}

	unlock()
	waiting.Wait()
}

func TestFileTakesTheLowestOfTheHorizonsAheadAndTheLongestFreeBelow(t *testing.T) {
	t.Parallel()
	f := newFile(t, t.TempDir())
	var claims []leasestore.Claim
	for n, horizon := range []int64{3000, 2000, 10, 10} { // the clock is at 1000
		claims = append(claims, acquire(t, f, fileRequest(n, 3)).Claim)
		extend(t, f, claims[n], horizon)
	}

	for _, n := range []int{0, 1, 2, 3, 2} { // a repeated release does not count
		release(t, f, claims[n])
		time.Sleep(time.Millisecond)
	}

	for n, want := range []int64{2, 3, 1, 0} {
		if g := acquire(t, f, fileRequest(10+n, 3)); g.Worker != want {
			t.Errorf("worker %d, want %d", g.Worker, want)
		}
	}
}

// Beside the folders of the namespaces may be something else.
func TestFileListShowsAllNamespacesInOrder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "leases")
	f, other := newFile(t, dir), newFile(t, dir)
	r := fileRequest(1, 3)
	for _, namespace := range []string{"b", "B", "orders.v2."} {
		r.Namespace = namespace
		g := acquire(t, f, r)
		if namespace == "B" {
			release(t, f, g.Claim)
		}
	}

	r.Namespace, r.Token = "b", fileRequest(9, 3).Token
	acquire(t, other, r)
	const all = "B 0 false, b 0 true, b 1 true, orders.v2. 0 true"
	check := func(s *filelease.Store, fails bool) {
		t.Helper()
		entries, err := s.List(t.Context(), "")
		var got []string
		for _, e := range entries {
			got = append(got, fmt.Sprintf("%s %d %v", e.Namespace, e.Worker, e.Held))
		}
		if strings.Join(got, ", ") != all || (err != nil) != fails {
			t.Errorf("got %q, %v, want %s and an error: %t", got, err, all, fails)
		}
	}

	check(f, false)
	check(other, false)
	write(t, filepath.Join(dir, "beef"), nil) // a file with a hexadecimal name is none of a store
	check(f, false)
	write(t, filepath.Join(dir, "5.json"), nil) // nor is one beside the namespaces, with a folder of the store's name
	must(t, os.Mkdir(filepath.Join(dir, "leases"), 0o700))
	check(f, false)
	if err := os.MkdirAll(filepath.Join(dir, "61", "0.json"), 0o700); err != nil { // the first namespace can't be read
		t.Fatal(err)
	}

	check(f, true)
}

func TestFileIsUselessAfterClose(t *testing.T) {
	t.Parallel()
	f := newFile(t, t.TempDir())
	c := acquire(t, f, fileRequest(1, 3)).Claim
	must(t, f.Close())
	wantErr(t, "Extend", extendErr(t, f, c, 1), os.ErrClosed)
	wantErr(t, "Acquire", errOf(f.Acquire(t.Context(), fileRequest(2, 3))), os.ErrClosed)
	wantErr(t, "Release", f.Release(t.Context(), c, 1), os.ErrClosed)
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
			must(t, first.Close())
		}

		second := newFile(t, dir)
		if again := acquire(t, second, century).Claim; again != claim {
			t.Errorf("another process has %+v, want %+v", again, claim)
		}

		other := century
		other.Token = fileRequest(2, 1).Token
		wantErr(t, "another token", errOf(second.Acquire(t.Context(), other)), lease.ErrNoWorker)
		if entries, err := second.List(t.Context(), claim.Namespace); err != nil || len(entries) != 1 || !entries[0].Reserved() {
			t.Errorf("%+v, %v, want a reservation", entries, err)
		}

		if !before { // given back, it is a worker like any other
			must(t, second.Release(t.Context(), claim, 0))
			other.TTL = time.Second
			wantGrant(t, newFile(t, dir), other, 1, 0)
		}
	}
}
