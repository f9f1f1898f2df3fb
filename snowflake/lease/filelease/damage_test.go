package filelease_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/checksummed"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// damages are what can happen to a state file.
var damages = map[string]func(good []byte) []byte{
	"empty":             func([]byte) []byte { return nil },
	"without its end":   func(b []byte) []byte { return b[:len(b)-1] },
	"more after it":     func(b []byte) []byte { return append(bytes.Clone(b), "{}\n"...) },
	"a lower horizon":   func(b []byte) []byte { return bytes.Replace(b, []byte(`:4711`), []byte(`:0`), 1) },
	"other spaces":      func(b []byte) []byte { return bytes.Replace(b, []byte(","), []byte(", "), 1) },
	"a horizon below 0": resealed(`:4711`, `:-4711`),
	"an epoch below 1":  resealed(`"epoch":`, `"epoch":-`),
	"the last epoch":    resealed(`"epoch":`, `"epoch":9223372036854775807,"x":`),
	"a worker below 0":  resealed(`"worker":`, `"worker":-1,"x":`),
	"other JSON":        func([]byte) []byte { return []byte("[1]\n") },
}

// resealed replaces a part of a state and gives it a right checksum.
func resealed(before, after string) func([]byte) []byte {
	return func(b []byte) []byte {
		content := append(bytes.Clone(b[:bytes.LastIndex(b, []byte(`,"checksum"`))]), '}')
		text, err := checksummed.Marshal(json.RawMessage(bytes.Replace(content, []byte(before), []byte(after), 1)))
		if err != nil {
			return b // not damaged
		}
		return text
	}
}

func damagedStore(t *testing.T) (dir, path string, good []byte) {
	t.Helper()
	dir = t.TempDir()
	f := newFile(t, dir)
	for n := range 2 {
		c := acquire(t, f, fileRequest(n, 1)).Claim
		extend(t, f, c, 4711)
		release(t, f, c)
		acquire(t, f, fileRequest(10+n, 1)) // 0 is not to be taken again
	}
	must(t, f.Close())
	path = stateOf(dir, 0)
	return dir, path, contents(t, path)
}

func TestFileRefusesADamagedStateAndNamesIt(t *testing.T) {
	dir, path, good := damagedStore(t)
	damages := maps.Clone(damages)
	other := contents(t, stateOf(dir, 1))
	damages["of another worker"] = func([]byte) []byte { return other }
	damages["of another namespace"] = resealed(`"orders"`, `"bills"`)
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			bad := damage(good)
			if bytes.Equal(bad, good) {
				t.Fatal("not damaged")
			}

			write(t, path, bad)
			f := newFile(t, dir)
			wantErr(t, "Acquire", errOf(f.Acquire(t.Context(), fileRequest(3, 0))), lease.ErrDamaged, path)
			entries, err := f.List(t.Context(), "orders")
			if !errors.Is(err, lease.ErrDamaged) || len(entries) != 1 || entries[0].Worker != 1 {
				t.Errorf("List: got %v, %v, want the other entry and ErrDamaged", entries, err)
			}

			if !bytes.Equal(contents(t, path), bad) {
				t.Error("the file was changed")
			}

			write(t, path, good)
			if g := acquire(t, f, fileRequest(3, 0)); g.Horizon != 4711 {
				t.Errorf("restored: horizon %d", g.Horizon)
			}

			good = contents(t, path) // it has another epoch now
		})
	}
}

func TestFileLendsNothingWhereTheLayoutIsUnknown(t *testing.T) {
	t.Parallel()
	dir, path, _ := damagedStore(t)
	r := fileRequest(3, 9)
	r.First = 5 // never taken
	for _, worker := range []int64{0, 1} {
		must(t, os.Truncate(stateOf(dir, worker), 10))
	}
	if err := os.Symlink("nowhere", stateOf(dir, 2)); err != nil { // like one that is removed meanwhile
		t.Log(err)
	}
	wantErr(t, "Acquire", errOf(newFile(t, dir).Acquire(t.Context(), r)), lease.ErrDamaged, filepath.Dir(path))
}

func TestAnOwnerNoticesThatItsFilesWereReplaced(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		replace func(path string) error
		want    error
	}{
		"the lock file removed": {func(path string) error { return os.Remove(path + ".lock") }, nil}, // it gets a new lock
		"the folder removed":    {func(path string) error { return os.RemoveAll(filepath.Dir(path)) }, lease.ErrLost},
		"the state removed":     {os.Remove, lease.ErrDamaged},
		"the state cut off":     {func(path string) error { return os.Truncate(path, 10) }, lease.ErrDamaged},
		"both removed": {func(path string) error {
			return errors.Join(os.Remove(path), os.Remove(path+".lock"))
		}, lease.ErrLost},
		"taken over under a new lock file": {func(path string) error {
			err := os.Remove(path + ".lock")
			acquire(t, newFile(t, filepath.Dir(filepath.Dir(path))), fileRequest(2, 0))
			return err
		}, lease.ErrLost},
	} {
		dir := t.TempDir()
		f := newFile(t, dir)
		c := acquire(t, f, fileRequest(1, 0)).Claim
		extend(t, f, c, 10)
		must(t, tc.replace(stateOf(dir, 0)))
		wantErr(t, name, extendErr(t, f, c, 20), tc.want)
	}
}

// Another process holds a new lock file, and has not written yet.
func TestAnOwnerWhoseLockFileWasReplacedDoesNotGoOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFile(t, dir)
	c := acquire(t, f, fileRequest(1, 0)).Claim
	must(t, os.Remove(stateOf(dir, 0)+".lock"))
	unlock, err := filelease.Lock(stateOf(dir, 0))
	must(t, err)
	defer unlock()
	if err := extendErr(t, f, c, 20); err == nil || errors.Is(err, lease.ErrLost) {
		t.Errorf("got %v, want an error that is not final", err)
	}
}

func TestNewFileRefusesWhatIsNoFolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, nil)
	for _, dir := range []string{path, filepath.Join(path, "below")} {
		if _, err := filelease.New(dir); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v", dir, err)
		}
	}
	wantErr(t, "no path", errOf(filelease.New("")), lease.ErrOption)
}

func TestFileOpensNoStatesThatItDoesNotNeed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFile(t, dir)
	var claims []leasestore.Claim
	for n := range 5 {
		claims = append(claims, acquire(t, f, fileRequest(n, 4)).Claim)
	}

	for _, c := range claims {
		release(t, f, c)
		path := stateOf(dir, c.Worker)
		info, err := os.Stat(path)
		if err == nil && c.Worker > 0 {
			err = errors.Join(os.Truncate(path, 0), os.Chtimes(path, info.ModTime(), info.ModTime()))
		}
		must(t, err)
	}

	wantGrant(t, f, fileRequest(30, 4), 0, 0) // the worker that is free for the longest time
}

// A copy of the process on the same files has extended: its state has a token of which this process knows nothing.
func TestAnOwnerWhoseStateIsThatOfACopyLetsTheWorkerGo(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	f, twin := newFile(t, dir), newFile(t, other)
	c, copied := acquire(t, f, fileRequest(1, 0)).Claim, acquire(t, twin, fileRequest(1, 0)).Claim
	copied.Next = "e" + copied.Next[1:]
	extend(t, twin, copied, 20)
	write(t, stateOf(dir, 0), contents(t, stateOf(other, 0)))
	wantErr(t, "Extend", extendErr(t, f, c, 30), lease.ErrLost)
	wantGrant(t, newFile(t, dir), fileRequest(2, 0), 0, 20) // the horizon of the copy
}

// Any content of a state file is either rejected or is, byte for byte, a state that the store writes.
func FuzzStateFile(f *testing.F) {
	dir := f.TempDir()
	s := newFile(f, dir)
	extend(f, s, acquire(f, s, workerRequest(1, 12)).Claim, 4711)
	good := contents(f, stateOf(dir, 12))
	f.Add(good)
	for _, damage := range damages {
		f.Add(damage(good))
	}

	f.Fuzz(func(t *testing.T, text []byte) {
		epoch, horizon, again, err := filelease.Reseal(text)
		if err != nil {
			return
		}
		if !bytes.Equal(again, text) || epoch < 1 || horizon < 0 {
			t.Errorf("accepted %q, which is written as %q", text, again)
		}
	})
}
