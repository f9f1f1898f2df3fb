//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package filelease

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// lockFile fails: without a lock that dies with its process there is no file store.
func lockFile(f *os.File) (bool, error) {
	return false, fmt.Errorf("lease: no file locks on %s, so no file store: %s: %w",
		runtime.GOOS, f.Name(), errors.ErrUnsupported)
}

// unlockFile does nothing: closing ends the lock.
func unlockFile(*os.File) error { return nil }

func replaceFile(from, to string) error { return os.Rename(from, to) }

func syncFolder(string) error { return nil }
