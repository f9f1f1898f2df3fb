package filelease_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

const fileLayout = "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12"

func newFile(t *testing.T, dir string) *filelease.Store {
	t.Helper()
	f, err := filelease.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// fileRequest asks for one of the first workers; n makes the token.
func fileRequest(n int, last int64) lease.Request {
	return lease.Request{
		Namespace: "orders", Layout: fileLayout, Last: last, Token: fmt.Sprintf("%032x", n), TTL: time.Second,
		Tick: 1000, Holder: lease.Holder{Host: "h", PID: 7, Version: "v1"},
	}
}

// acquire returns the grant with a next token, so that the claim holds before its first extension and after it.
func acquire(t *testing.T, s lease.Store, r lease.Request) lease.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	g.Next = "f" + g.Token[1:]
	return g
}

func extend(t *testing.T, s lease.Store, c lease.Claim, horizon int64) {
	t.Helper()
	if _, err := s.Extend(t.Context(), c, horizon, time.Second); err != nil {
		t.Fatal(err)
	}
}

func release(t *testing.T, s lease.Store, c lease.Claim) {
	t.Helper()
	if err := s.Release(t.Context(), c, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
}

func stateOf(dir string, worker int64) string {
	return filepath.Join(dir, filelease.NamespaceFolder("orders"), fmt.Sprintf("%d.json", worker))
}

func TestFileValuesOfOneProcessExcludeEachOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := newFile(t, dir), newFile(t, dir)
	first := acquire(t, a, fileRequest(1, 0))
	var none *lease.NoWorkerError
	for name, s := range map[string]lease.Store{"the same File": a, "another File": b} {
		if _, err := s.Acquire(t.Context(), fileRequest(2, 0)); !errors.As(err, &none) {
			t.Errorf("%s: got %v, want NoWorkerError", name, err)
		}
	}
	if _, err := b.Extend(t.Context(), first.Claim, 5, time.Second); err == nil || errors.Is(err, lease.ErrLost) {
		t.Errorf("a claim of another File: got %v, want an error that is not final", err)
	}
	release(t, a, first.Claim)
	if second := acquire(t, b, fileRequest(2, 0)); second.Epoch != first.Epoch+1 {
		t.Errorf("epoch %d after %d", second.Epoch, first.Epoch)
	}
	for name, s := range map[string]lease.Store{"the old File": a, "the new File": b} {
		if _, err := s.Extend(t.Context(), first.Claim, 5, time.Second); !errors.Is(err, lease.ErrLost) {
			t.Errorf("%s: got %v, want ErrLost", name, err)
		}
	}
}

func TestFileIsGivenBackByAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := newFile(t, dir), newFile(t, dir)
	c := acquire(t, a, fileRequest(1, 0)).Claim
	extend(t, a, c, 9)
	release(t, a, c)
	for _, asked := range []int64{12, 4, 7} { // in the end, the lowest
		if err := b.Release(t.Context(), c, asked); err != nil {
			t.Fatal(err)
		}
	}
	if g := acquire(t, a, fileRequest(2, 0)); g.Horizon != 4 {
		t.Errorf("horizon %d, want 4", g.Horizon)
	}
}

func TestFileRefusesALayoutThatJSONCannotHold(t *testing.T) {
	t.Parallel()
	r := fileRequest(1, 0)
	r.Layout = "\xff"
	if _, err := newFile(t, t.TempDir()).Acquire(t.Context(), r); !errors.Is(err, lease.ErrOption) {
		t.Errorf("got %v, want ErrOption", err)
	}
}

func TestTheFoldersOfNamespacesDifferOnEveryFileSystem(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, name := range []string{
		"a", "A", "..", "a/b", "a\\b", "con", strings.Repeat("a", 100), strings.Repeat("A", 100), strings.Repeat("\x01", 100),
	} {
		folder := filelease.NamespaceFolder(name)
		if other, ok := seen[strings.ToLower(folder)]; ok || len(folder) > 200 || strings.Trim(folder, "-0123456789abcdefghijklmnopqrstuv") != "" {
			t.Errorf("%q has the folder %q, of %q: %t", name, folder, other, ok)
		}
		seen[strings.ToLower(folder)] = name
	}
}

func TestFileWaitsForAnotherProcessAsLongAsTheContextLives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFile(t, dir)
	c := acquire(t, f, fileRequest(1, 3)).Claim
	unlock, err := filelease.Lock(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := f.Acquire(ctx, fileRequest(2, 3)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if _, err := f.List(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("List: got %v, want the end of the context", err)
	}
	unlock()
	acquire(t, f, fileRequest(2, 3))
	extend(t, f, c, 5)
}

func TestAnExtensionDoesNotWaitForACallThatWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFile(t, dir)
	c := acquire(t, f, fileRequest(1, 3)).Claim
	unlock, err := filelease.Lock(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := f.Acquire(ctx, fileRequest(2, 3)); err != nil {
			t.Errorf("Acquire: got %v, want a worker in the end", err)
		}
	})
	waiting.Go(func() {
		if _, err := f.List(ctx, ""); err != nil {
			t.Errorf("List: %v", err)
		}
	})
	for range 10 {
		time.Sleep(2 * time.Millisecond) // for them to wait
		short, end := context.WithTimeout(t.Context(), 5*time.Second)
		if _, err := f.Extend(short, c, 5, time.Second); err != nil {
			t.Errorf("Extend: %v", err)
			cancel()
		}
		end()
	}
	unlock()
	waiting.Wait()
	cancel()
}

func TestFileTakesTheLowestOfTheHorizonsAheadAndTheLongestFreeBelow(t *testing.T) {
	t.Parallel()
	f := newFile(t, t.TempDir())
	var claims []lease.Claim
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

func TestATokenIsThatOfOneNamespace(t *testing.T) {
	t.Parallel()
	f := newFile(t, t.TempDir())
	r := fileRequest(1, 3)
	acquire(t, f, r)
	r.Namespace = "bills"
	if g := acquire(t, f, r); g.Namespace != "bills" || g.Epoch != 1 {
		t.Errorf("got %+v, want a worker of bills", g)
	}
}

func TestFileListShowsAllNamespacesInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, other := newFile(t, dir), newFile(t, dir)
	for n, namespace := range []string{"b", "B", "a/../b", "orders.v2."} {
		r := fileRequest(n, 3)
		r.Namespace = namespace
		c := acquire(t, f, r).Claim
		extend(t, f, c, int64(n)+1)
		if namespace == "B" {
			release(t, f, c)
		}
	}
	r := fileRequest(9, 3)
	r.Namespace = "b"
	acquire(t, other, r)
	var got []string
	for _, s := range []*filelease.Store{f, other} {
		entries, err := s.List(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		got = got[:0]
		for _, e := range entries {
			if e.Token != "" || !e.Expires.IsZero() || e.Layout != fileLayout || e.Holder != r.Holder {
				t.Errorf("got %+v", e)
			}
			got = append(got, fmt.Sprintf("%s %d %d %v", e.Namespace, e.Worker, e.Horizon, e.Held))
		}
		if want := "B 0 2 false, a/../b 0 3 true, b 0 1 true, b 1 0 true, orders.v2. 0 4 true"; strings.Join(got, ", ") != want {
			t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
		}
	}
	if entries, err := f.List(t.Context(), "b"); err != nil || len(entries) != 2 {
		t.Errorf("one namespace: %v, %v", entries, err)
	}
	if entries, err := f.List(t.Context(), "unknown"); err != nil || len(entries) != 0 {
		t.Errorf("an unknown namespace: %v, %v", entries, err)
	}
	unreadable := filepath.Join(dir, filelease.NamespaceFolder("a")) // comes first
	if err := os.WriteFile(unreadable, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if entries, err := f.List(t.Context(), ""); err == nil || len(entries) != 5 {
		t.Errorf("a folder that can't be read: got %v, %v, want the other entries and the error", entries, err)
	}
}

func TestFileIsUselessAfterClose(t *testing.T) {
	t.Parallel()
	f := newFile(t, t.TempDir())
	c := acquire(t, f, fileRequest(1, 3)).Claim
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Extend(t.Context(), c, 1, time.Second); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Extend: %v", err)
	}
	if _, err := f.Acquire(t.Context(), fileRequest(2, 3)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Acquire: %v", err)
	}
	if err := f.Release(t.Context(), c, 1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Release: %v", err)
	}
	if _, err := f.List(t.Context(), ""); !errors.Is(err, os.ErrClosed) {
		t.Errorf("List: %v", err)
	}
}

func TestFirstUsesOfAReleasedClaimAtTheSameTimeSucceed(t *testing.T) {
	t.Parallel()
	f := newFile(t, t.TempDir())
	for n := range 20 {
		c := acquire(t, f, fileRequest(n, 0)).Claim
		release(t, f, c)
		var uses sync.WaitGroup
		for use := range 4 {
			uses.Go(func() {
				if _, err := f.Extend(t.Context(), c, int64(10*n+use), time.Second); err != nil {
					t.Error(err)
				}
			})
		}
		uses.Wait()
		release(t, f, c)
	}
}
