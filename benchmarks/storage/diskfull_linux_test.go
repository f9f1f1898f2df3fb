package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestAFullDiskIsAClearErrorAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("mounting a small file system is not allowed here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	_, _, err := call(t, t.Context(), "-dir", dir, "-scenario", "load", "-keys", "uuidv4-text", "-baseline", "uuidv4-text",
		"-rows", "50000", "-batch", "1000", "-rounds", "1")
	if err == nil || !strings.Contains(err.Error(), "disk is full") || !strings.Contains(err.Error(), "uuidv4-text") {
		t.Errorf("error %v, want the key and that the disk is full", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
