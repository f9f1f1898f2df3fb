package filelease_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

// tmpfs mounts a file system of 64 KiB, or skips the test if that is not permitted.
func tmpfs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting is not permitted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

func TestAFullDiskIsAnErrorAndCostsNoHorizon(t *testing.T) {
	dir := tmpfs(t)
	f := newFile(t, dir)
	c := acquire(t, f, fileRequest(1, 5)).Claim
	extend(t, f, c, 10)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 64<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	_, err := f.Extend(t.Context(), c, 20, time.Second)
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), dir) {
		t.Errorf("Extend: got %v, want ENOSPC with the file", err)
	}
	if _, err := f.Acquire(t.Context(), fileRequest(2, 5)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Acquire: got %v, want ENOSPC", err)
	}
	if entries, err := f.List(t.Context(), ""); err != nil || len(entries) != 1 || entries[0].Horizon != 10 {
		t.Errorf("List: got %v, %v, want the horizon 10", entries, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	extend(t, f, c, 20)
	if err := f.Close(); err != nil { // as a crash: nothing is written any more
		t.Fatal(err)
	}
	if g := acquire(t, newFile(t, dir), fileRequest(3, 0)); g.Horizon != 20 || g.Epoch != 2 {
		t.Errorf("afterwards: got %+v", g)
	}
}

func TestAReadOnlyFolderIsAnErrorAtOnce(t *testing.T) {
	dir := tmpfs(t)
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("mounting is not permitted: %v", err)
	}
	if _, err := filelease.New(dir); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), dir) {
		t.Errorf("New: got %v, want EROFS with the folder", err)
	}
}
