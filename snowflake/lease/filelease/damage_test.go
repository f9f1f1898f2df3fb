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
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/sealed"
)

// damages are what can happen to a state file.
var damages = map[string]func(good []byte) []byte{
	"empty":              func([]byte) []byte { return nil },
	"cut off":            func(b []byte) []byte { return b[:len(b)/2] },
	"without its end":    func(b []byte) []byte { return b[:len(b)-1] },
	"zeros":              func(b []byte) []byte { return make([]byte, len(b)) },
	"its end zeros":      func(b []byte) []byte { return append(bytes.Clone(b[:len(b)-20]), make([]byte, 20)...) },
	"more after it":      func(b []byte) []byte { return append(bytes.Clone(b), "{}\n"...) },
	"twice":              func(b []byte) []byte { return append(bytes.Clone(b), b...) },
	"a lower horizon":    func(b []byte) []byte { return bytes.Replace(b, []byte(`:4711`), []byte(`:0`), 1) },
	"a digit flipped":    func(b []byte) []byte { return bytes.Replace(b, []byte(`:4711`), []byte(`:4311`), 1) },
	"no horizon":         func(b []byte) []byte { return bytes.Replace(b, []byte(`"horizon":4711,`), nil, 1) },
	"horizon null":       func(b []byte) []byte { return bytes.Replace(b, []byte(`:4711`), []byte(`:null`), 1) },
	"horizon twice":      func(b []byte) []byte { return bytes.Replace(b, []byte(`"epoch"`), []byte(`"horizon":1,"epoch"`), 1) },
	"other spaces":       func(b []byte) []byte { return bytes.Replace(b, []byte(","), []byte(", "), 1) },
	"of a later format":  func(b []byte) []byte { return bytes.Replace(b, []byte(`file 1"`), []byte(`file 2"`), 1) },
	"without a format":   func(b []byte) []byte { return bytes.Replace(b, []byte(`"format":"sqlflake lease file 1",`), nil, 1) },
	"by a later version": resealed(`file 1"`, `file 2"`),
	"a horizon below 0":  resealed(`:4711`, `:-4711`),
	"an epoch below 1":   resealed(`"epoch":`, `"epoch":-`),
	"the last epoch":     resealed(`"epoch":`, `"epoch":9223372036854775807,"x":`),
	"a worker below 0":   resealed(`"worker":`, `"worker":-1,"x":`),
	"other JSON":         func([]byte) []byte { return []byte("{}\n") },
	"a JSON null":        func([]byte) []byte { return []byte("null\n") },
	"a JSON array":       func([]byte) []byte { return []byte("[1]\n") },
	"binary":             func([]byte) []byte { return []byte("\x7fELF\x02\x01") },
	"very long":          func([]byte) []byte { return bytes.Repeat([]byte(" "), 1<<20) },
	"with a line's end":  func(b []byte) []byte { return append(bytes.Clone(b), '\n') },
}

// resealed replaces a part of a state and gives it a right checksum.
func resealed(before, after string) func([]byte) []byte {
	return func(b []byte) []byte {
		content := append(bytes.Clone(b[:bytes.LastIndex(b, []byte(`,"checksum"`))]), '}')
		text, err := sealed.Marshal(json.RawMessage(bytes.Replace(content, []byte(before), []byte(after), 1)))
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
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	path = stateOf(dir, 0)
	return dir, path, readFile(t, path)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFileRefusesADamagedStateAndNamesIt(t *testing.T) {
	dir, path, good := damagedStore(t)
	damages := maps.Clone(damages)
	other := readFile(t, stateOf(dir, 1))
	damages["of another worker"] = func([]byte) []byte { return other }
	damages["of another namespace"] = resealed(`"orders"`, `"bills"`)
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			bad := damage(good)
			if bytes.Equal(bad, good) {
				t.Fatal("not damaged")
			}
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			f := newFile(t, dir)
			g, err := f.Acquire(t.Context(), fileRequest(3, 0))
			if !errors.Is(err, lease.ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Errorf("Acquire: got %+v, %v, want ErrDamaged with %s", g, err, path)
			}
			entries, err := f.List(t.Context(), "orders")
			if !errors.Is(err, lease.ErrDamaged) || len(entries) != 1 || entries[0].Worker != 1 {
				t.Errorf("List: got %v, %v, want the other entry and ErrDamaged", entries, err)
			}
			if !bytes.Equal(readFile(t, path), bad) {
				t.Error("the file was changed")
			}
			if err := os.WriteFile(path, good, 0o600); err != nil {
				t.Fatal(err)
			}
			if g := acquire(t, f, fileRequest(3, 0)); g.Horizon != 4711 {
				t.Errorf("restored: horizon %d", g.Horizon)
			}
			good = readFile(t, path) // it has another epoch now
		})
	}
}

func TestFileDoesNotBeginAgainWhereAStateIsGone(t *testing.T) {
	t.Parallel()
	dir, path, _ := damagedStore(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	g, err := newFile(t, dir).Acquire(t.Context(), fileRequest(3, 0))
	if !errors.Is(err, lease.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %+v, %v, want ErrDamaged", g, err)
	}
}

func TestFileLendsNothingWhereTheLayoutIsUnknown(t *testing.T) {
	t.Parallel()
	dir, path, _ := damagedStore(t)
	r := fileRequest(3, 9)
	r.First = 5 // never taken
	for _, worker := range []int64{0, 1} {
		if err := os.Truncate(stateOf(dir, worker), 10); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere", stateOf(dir, 2)); err != nil { // like one that is removed meanwhile
		t.Log(err)
	}
	if g, err := newFile(t, dir).Acquire(t.Context(), r); !errors.Is(err, lease.ErrDamaged) || !strings.Contains(err.Error(), filepath.Dir(path)) {
		t.Errorf("got %+v, %v, want ErrDamaged", g, err)
	}
}

func TestAnOwnerNoticesThatItsFilesWereReplaced(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		replace func(t *testing.T, path string)
		want    error
	}{
		"the lock file removed": {func(t *testing.T, path string) { remove(t, path+".lock") }, nil}, // it gets a new lock
		"both removed":          {func(t *testing.T, path string) { remove(t, path, path+".lock") }, lease.ErrLost},
		"the folder removed": {func(t *testing.T, path string) {
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
		}, lease.ErrLost},
		"the state removed": {func(t *testing.T, path string) { remove(t, path) }, lease.ErrDamaged},
		"the state cut off": {func(t *testing.T, path string) {
			if err := os.Truncate(path, 10); err != nil {
				t.Fatal(err)
			}
		}, lease.ErrDamaged},
		"taken over under a new lock file": {func(t *testing.T, path string) {
			remove(t, path+".lock")
			acquire(t, newFile(t, filepath.Dir(filepath.Dir(path))), fileRequest(2, 0))
		}, lease.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f := newFile(t, dir)
			c := acquire(t, f, fileRequest(1, 0)).Claim
			extend(t, f, c, 10)
			tc.replace(t, stateOf(dir, 0))
			if _, err := f.Extend(t.Context(), c, 20, time.Second); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNewFileRefusesWhatIsNoFolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{path, filepath.Join(path, "below")} {
		if _, err := filelease.New(dir); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v", dir, err)
		}
	}
	if _, err := filelease.New(""); !errors.Is(err, lease.ErrOption) {
		t.Errorf("no folder: got %v", err)
	}
	if _, err := filelease.NewStateFile(""); !errors.Is(err, lease.ErrOption) {
		t.Errorf("no state file: got %v", err)
	}
}

func TestFileOpensNoStatesThatItDoesNotNeed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFile(t, dir)
	var claims []lease.Claim
	for n := range 20 {
		claims = append(claims, acquire(t, f, fileRequest(n, 19)).Claim)
	}
	for _, c := range claims {
		release(t, f, c)
	}
	for _, c := range claims[1:] {
		path := stateOf(dir, c.Worker)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
			t.Fatal(err)
		}
	}
	if g := acquire(t, f, fileRequest(30, 19)); g.Worker != 0 || g.Epoch != 2 {
		t.Errorf("got %+v, want worker 0, which is free for the longest time", g)
	}
}

// The flush of the folder fails after the rename: the extension is an error, and the state has the next token.
func TestAnExtensionWhoseFlushFailedCanBeRepeated(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	f := newFile(t, dir)
	c := acquire(t, f, fileRequest(1, 0)).Claim
	path := stateOf(dir, 0)
	if err := os.Mkdir(path+".tmp", 0o700); err != nil { // so that it is not written
		t.Fatal(err)
	}
	if _, err := f.Extend(t.Context(), c, 20, time.Second); err == nil {
		t.Fatal("no error")
	}
	twin := newFile(t, other)
	extend(t, twin, acquire(t, twin, fileRequest(1, 0)).Claim, 20)
	if err := os.WriteFile(path, readFile(t, stateOf(other, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	extend(t, f, c, 20)
}

// A copy of the process on the same files has extended: its state has a token of which this process knows nothing.
func TestAnOwnerWhoseStateIsThatOfACopyLetsTheWorkerGo(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	f, twin := newFile(t, dir), newFile(t, other)
	c, copied := acquire(t, f, fileRequest(1, 0)).Claim, acquire(t, twin, fileRequest(1, 0)).Claim
	copied.Next = "e" + copied.Next[1:]
	extend(t, twin, copied, 20)
	if err := os.WriteFile(stateOf(dir, 0), readFile(t, stateOf(other, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Extend(t.Context(), c, 30, time.Second); !errors.Is(err, lease.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	if g := acquire(t, newFile(t, dir), fileRequest(2, 0)); g.Horizon != 20 || g.Epoch != 2 {
		t.Errorf("got %+v, want the horizon of the copy", g)
	}
}
