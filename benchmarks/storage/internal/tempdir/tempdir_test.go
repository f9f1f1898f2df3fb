//go:build unix

package tempdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCleanRemovesOnlyWhatWasLeft(t *testing.T) {
	parent := t.TempDir()
	used, err := New(parent, Files)
	if err != nil {
		t.Fatal(err)
	}
	killed, err := New(parent, Files)
	if err != nil {
		t.Fatal(err)
	}
	_ = killed.lock.Close() // as the kernel does
	fresh, err := New(parent, Files)
	if err != nil {
		t.Fatal(err)
	}
	_ = fresh.lock.Close()
	others := []string{"sqlflake-storage-mine", "sqlflake-storage-123", "precious"} // without a lock, or with another name
	for _, name := range others {
		if err := os.Mkdir(filepath.Join(parent, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(parent, "sqlflake-storage-7")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, path := range []string{used.Path, killed.Path, filepath.Join(parent, others[1])} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
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
