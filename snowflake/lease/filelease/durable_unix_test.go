//go:build unix

package filelease_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

// flushes records what is flushed, by its path below root. The call number failing, from 1, fails.
type flushes struct {
	root    string
	paths   []string
	failing int
	check   func(path string) // before each
}

func recordFlushes(t *testing.T, root string) *flushes {
	t.Helper()
	r := &flushes{root: root}
	t.Cleanup(filelease.ReplaceSync(func(f *os.File) error {
		path, err := filepath.Rel(root, f.Name())
		if err != nil {
			return err
		}

		if r.paths = append(r.paths, path); len(r.paths) == r.failing {
			return &os.PathError{Op: "sync", Path: f.Name(), Err: syscall.EIO}
		}

		if r.check != nil {
			r.check(f.Name())
		}

		return f.Sync()
	}))

	return r
}

// A power cut needs this order: folders before what is in them, a state before its name.
func TestEachStepIsOnTheDiskBeforeTheNext(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b")
	namespace := filepath.Join("a", "b", orders)
	state := filepath.Join(namespace, "0.json")
	written := state + ".tmp " + namespace
	r := recordFlushes(t, root)
	var temp []byte
	r.check = func(path string) {
		switch path {
		case filepath.Join(root, state) + ".tmp": // complete, and not yet renamed
			temp = contents(t, path)
			if _, _, _, err := filelease.Reseal(temp); err != nil {
				t.Errorf("flushed: %q, %v", temp, err)
			}
		case filepath.Join(root, namespace): // renamed
			if now := contents(t, filepath.Join(root, state)); !bytes.Equal(now, temp) {
				t.Errorf("flushed with %q, want %q", now, temp)
			}
		}
	}

	want := func(what, paths string) {
		t.Helper()
		got := strings.Join(slices.Compact(r.paths), " ")
		if r.paths = nil; got != paths {
			t.Errorf("%s flushed %q, want %q", what, got, paths)
		}
	}

	f := newFile(t, dir)
	want("New", ". a")
	c := acquire(t, f, fileRequest(1, 0)).Claim
	want("Acquire", filepath.Join("a", "b")+" "+written)
	extend(t, f, c, 10)
	want("Extend", written)
	extend(t, f, c, 10) // of which it is not known whether it is on the disk
	want("Extend without a change", written)
	must(t, f.Release(t.Context(), c, 5))
	want("Release", written)
	acquire(t, f, fileRequest(2, 0))
	want("a later Acquire", written)
}

func TestAFlushThatFailsIsAnErrorAndCostsNoHorizon(t *testing.T) {
	for _, failing := range []int{1, 2} { // the state, the folder
		root := t.TempDir()
		f := newFile(t, root)
		first := acquire(t, f, fileRequest(1, 0)).Claim
		extend(t, f, first, 10)
		first.Token, first.Next = first.Next, "e"+first.Next[1:] // the state may have either after a failure
		r := recordFlushes(t, root)
		fail := func() { r.paths, r.failing = nil, failing }
		fail()
		wantErr(t, "Extend", extendErr(t, f, first, 20), syscall.EIO)
		if names, err := filepath.Glob(filepath.Join(root, "*", "*.tmp")); err != nil || len(names) != 0 {
			t.Errorf("left: %v, %v", names, err)
		}

		extend(t, f, first, 20)
		if got := len(r.paths); got != failing+2 {
			t.Errorf("%d flushes, want two after the one that failed", got-failing)
		}

		fail()
		wantErr(t, "Release", f.Release(t.Context(), first, math.MaxInt64), syscall.EIO)
		fail()
		wantErr(t, "Acquire", errOf(f.Acquire(t.Context(), fileRequest(2, 0))), syscall.EIO)
		r.failing = 0
		if g := acquire(t, f, fileRequest(2, 0)); g.Horizon != 20 || g.Epoch < 2 {
			t.Errorf("got %+v, want the horizon 20", g)
		}
	}
}

func TestAFolderThatIsNotOnTheDiskIsAnError(t *testing.T) {
	root := t.TempDir()
	r := recordFlushes(t, root)
	r.failing = 1
	wantErr(t, "New", errOf(filelease.New(filepath.Join(root, "a"))), syscall.EIO)
	f := newFile(t, root)
	for range 2 { // the second one finds the folder, whose maker may have died before it was on the disk
		r.paths = nil
		if _, err := f.Acquire(t.Context(), fileRequest(1, 0)); !errors.Is(err, syscall.EIO) || r.paths[0] != "." {
			t.Errorf("Acquire: got %v after flushes of %q, want EIO of the folder", err, r.paths)
		}
	}
}

func TestACallWaitsForTheFlushOfAnotherAsLongAsItsContext(t *testing.T) {
	f := newFile(t, t.TempDir())
	c := acquire(t, f, fileRequest(1, 3)).Claim
	flushing, goOn := make(chan struct{}, 9), make(chan struct{})
	t.Cleanup(filelease.ReplaceSync(func(*os.File) error {
		flushing <- struct{}{}
		<-goOn
		return nil
	}))

	first := make(chan error)
	go func() { first <- extendErr(t, f, c, 5) }()
	<-flushing
	for name, call := range map[string]func(ctx context.Context) error{
		"Acquire": func(ctx context.Context) error { return errOf(f.Acquire(ctx, fileRequest(2, 3))) },
		"Extend":  func(ctx context.Context) error { return errOf(f.Extend(ctx, c, 6, time.Second)) },
		"Release": func(ctx context.Context) error { return f.Release(ctx, c, 5) },
		"List":    func(ctx context.Context) error { return errOf(f.List(ctx, "")) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		wantErr(t, name, call(ctx), context.DeadlineExceeded)
		cancel()
	}

	close(goOn)
	wantErr(t, "the flush", <-first, nil)
}

// Who reads the horizons after the mark must see each one that was confirmed.
func TestAnExtensionDuringWhichALaterVersionMarksTheNamespaceIsRefused(t *testing.T) {
	dir := t.TempDir()
	f := newFile(t, dir)
	claim := acquire(t, f, fileRequest(1, 0)).Claim
	recordFlushes(t, dir).check = func(string) { require2(t, dir, "orders") }
	var later *lease.VersionError
	if err := extendErr(t, f, claim, 5); !errors.As(err, &later) {
		t.Errorf("Extend: %v, want a *VersionError", err)
	}
}

// TestNothingIsWrittenThroughALink has a folder in which somebody else may make links to files of ours.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	for _, link := range []func(from, to string) error{os.Symlink, os.Link} {
		dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
		write(t, victim, []byte("mine"))
		f := newFile(t, dir)
		claim := acquire(t, f, fileRequest(1, 0)).Claim
		must(t, link(victim, stateOf(dir, 0)+".tmp"))
		extend(t, f, claim, 4711)
		if got := contents(t, victim); string(got) != "mine" {
			t.Errorf("the victim is %q", got)
		}
	}

	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	write(t, victim, nil)
	lock := stateOf(dir, 0) + ".lock"
	must(t, errors.Join(os.Mkdir(filepath.Dir(lock), 0o700), os.Symlink(victim, lock)))
	_, err := newFile(t, dir).Acquire(t.Context(), fileRequest(1, 0))
	if got := contents(t, victim); len(got) > 0 || err == nil || !strings.Contains(err.Error(), lock) {
		t.Errorf("the victim is %q: %v", got, err)
	}
}

// A child has a copy of each open file between its fork and its exec, and with it the locks.
func TestAChildThatIsBeingStartedNeitherKeepsNorEndsALock(t *testing.T) {
	program, err := osexec.LookPath("true")
	if err != nil {
		t.Fatal(err) // every Unix has it
	}

	dir := t.TempDir()
	f := newFile(t, dir)
	c := acquire(t, f, workerRequest(1, 12)).Claim
	extend(t, f, c, 5000) // above the tick, so it is looked at twice
	release(t, f, c)
	other := newFile(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	var children sync.WaitGroup
	defer children.Wait()
	defer cancel()
	for range 2 {
		children.Go(func() {
			for ctx.Err() == nil {
				_ = osexec.Command(program).Run()
			}
		})
	}

	for n := range processtest.Scale(50, 500) {
		c = acquire(t, f, workerRequest(n, 12)).Claim
		wantErr(t, "a second owner", errOf(other.Acquire(t.Context(), workerRequest(n+1000, 12))), lease.ErrNoWorker)
		release(t, f, c)
		if entries, err := f.List(t.Context(), ""); err != nil || len(entries) != 1 || entries[0].Held {
			t.Fatalf("List: got %+v, %v", entries, err)
		}
	}
}
