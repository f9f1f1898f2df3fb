//go:build unix

package tempdir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
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
	must(t, killed.lock.Close()) // as the kernel does
	starting := filepath.Join(parent, Files+"9")
	must(t, os.Mkdir(starting, 0o700))
	must(t, os.WriteFile(filepath.Join(starting, lockName), nil, 0o600))            // not locked yet
	others := []string{"sqlflake-storage-mine", "sqlflake-storage-123", "precious"} // without a lock, or with another name
	for _, name := range others {
		must(t, os.Mkdir(filepath.Join(parent, name), 0o700))
	}
	must(t, os.WriteFile(filepath.Join(parent, others[0], lockName), []byte("locked\n"), 0o600))
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, lockName), []byte("locked\n"), 0o600))
	link := filepath.Join(parent, "sqlflake-storage-7")
	must(t, os.Symlink(outside, link))
	want := []string{killed.Path}
	if left := Left(parent, Files); !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v", left, want)
	}
	if removed, err := Clean(parent, Files); err != nil || !slices.Equal(removed, want) {
		t.Errorf("removed: %v, %v, want %v", removed, err, want)
	}
	keep := []string{used.Path, starting, link, filepath.Join(outside, lockName)}
	for _, name := range others {
		keep = append(keep, filepath.Join(parent, name))
	}
	for _, path := range keep {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	must(t, used.Remove())
}
