//go:build unix

package tempdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCleanRemovesOnlyWhatWasLeft(t *testing.T) {
	parent := t.TempDir()
	used, err := New(parent, Files)
	must(t, err)
	killed, err := New(parent, Files)
	must(t, err)
	_ = killed.lock.Close() // as the kernel does
	fresh, err := New(parent, Files)
	must(t, err)
	_ = fresh.lock.Close()
	others := []string{"sqlflake-storage-mine", "sqlflake-storage-123", "precious"} // without a lock, or with another name
	for _, name := range others {
		must(t, os.Mkdir(filepath.Join(parent, name), 0o755))
	}
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, lockName), nil, 0o600))
	link := filepath.Join(parent, "sqlflake-storage-7")
	must(t, os.Symlink(outside, link))
	old := time.Now().Add(-time.Hour)
	for _, path := range []string{used.Path, killed.Path, filepath.Join(parent, others[1])} {
		must(t, os.Chtimes(path, old, old))
	}
	if left := Left(parent, Files); len(left) != 1 || left[0] != killed.Path {
		t.Errorf("left: %v, want %s", left, killed.Path)
	}
	removed, err := Clean(parent, Files)
	if err != nil || len(removed) != 1 || removed[0] != killed.Path {
		t.Errorf("removed: %v, %v", removed, err)
	}
	for _, path := range []string{
		used.Path, fresh.Path, link, filepath.Join(outside, lockName),
		filepath.Join(parent, others[1]),
	} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if err := used.Remove(); err != nil {
		t.Error(err)
	}
}
