package filelease_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

// tmpfs mounts a file system, or skips the test if that is not permitted.
func tmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("mounting a small file system is not allowed here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

func TestAFullDiskIsAnErrorAndCostsNoHorizon(t *testing.T) {
	dir := tmpfs(t, "size=64k")
	f := newFile(t, dir)
	c := acquire(t, f, fileRequest(1, 5)).Claim
	extend(t, f, c, 10)
	ballast := filepath.Join(dir, "ballast")
	for err := error(nil); err == nil; { // until not a byte is left
		err = appendTo(ballast, 512)
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

func appendTo(path string, n int) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, n))
	return errors.Join(err, f.Close())
}

func TestAReadOnlyFolderIsAnErrorAtOnce(t *testing.T) {
	dir := tmpfs(t, "size=64k")
	f := newFile(t, dir)
	c := acquire(t, f, fileRequest(1, 5)).Claim
	release(t, f, c) // an open lock file would keep the file system writable
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("remounting is not allowed here: %v", err)
	}
	if _, err := filelease.New(dir); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), dir) {
		t.Errorf("New: got %v, want EROFS with the folder", err)
	}
	if _, err := f.Acquire(t.Context(), fileRequest(2, 5)); !errors.Is(err, syscall.EROFS) {
		t.Errorf("Acquire: got %v, want EROFS", err)
	}
	if _, err := f.Extend(t.Context(), c, 20, time.Second); !errors.Is(err, syscall.EROFS) {
		t.Errorf("Extend: got %v, want EROFS", err)
	}
}

func TestAForbiddenFolderIsAnErrorOfNewFile(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("everything is allowed to root")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := filelease.New(dir); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want a permission error", err)
	}
}

func init() { childRoles["limited"] = extendWithoutSpace }

// extendWithoutSpace is the child of the test below.
func extendWithoutSpace(t *testing.T, s lease.Store) {
	signal.Ignore(syscall.SIGXFSZ) // the kernel's second way to tell
	c := acquire(t, s, fileRequest(1, 0)).Claim
	extend(t, s, c, 10)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	// Each file may have 100 bytes, so the state is cut off in the middle.
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	_, failed := s.Extend(t.Context(), c, 20, time.Second)
	entries, err := s.List(t.Context(), "")
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	extend(t, s, c, 30)
	fmt.Printf("result %v %d\n", errors.Is(failed, syscall.EFBIG), entries[0].Horizon)
}

func TestATornWriteIsAnErrorAndCostsNoHorizon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, "limited", dir)
	lines := c.rest()
	if err := c.Wait(); err != nil || len(lines) == 0 || lines[0] != "result true 10" {
		t.Errorf("got %q, %v, want EFBIG and the horizon 10", lines, err)
	}
	if g := acquire(t, newFile(t, dir), fileRequest(2, 0)); g.Horizon != 30 {
		t.Errorf("horizon %d, want 30", g.Horizon)
	}
}
