//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package filelease

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// lockFile fails: a file store needs a lock that ends with its process.
func lockFile(f *os.File) (bool, error) {
	return false, fmt.Errorf("lease: file stores need locks, which %s does not have: %s: %w",
		runtime.GOOS, f.Name(), errors.ErrUnsupported)
}

// unlockFile does nothing: closing ends the lock.
func unlockFile(*os.File) error { return nil }

func replaceFile(from, to string) error { return os.Rename(from, to) }

func syncFolder(string) error { return nil }
