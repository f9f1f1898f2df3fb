//go:build unix

package server

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	dirPrefix = "sqlflake-srv-" // short, because the path of a socket in it has a limit of about 100 bytes
	lockName  = "lock"          // locked while the process lives
	sweepAge  = time.Minute     // younger folders may not be locked yet
)

// newDir creates a folder that only its owner can read, and locks it.
func newDir() (string, *os.File, error) {
	dir, err := os.MkdirTemp("", dirPrefix)
	if err != nil {
		return "", nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = flock(lock)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, lock, nil
}

func flock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// sweep removes the folders of killed processes: those that are not locked.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*")) // fails for a bad pattern only
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
		if err != nil {
			continue // in use, or not a folder of this package
		}
		if flock(lock) == nil {
			_ = os.RemoveAll(dir) // best effort
		}
		_ = lock.Close()
	}
}

// findBeside finds two programs in the same folder.
func findBeside(folders []string, first, second string) (string, string, bool) {
	for _, dir := range folders {
		a, b := filepath.Join(dir, first), filepath.Join(dir, second)
		if isProgram(a) && isProgram(b) {
			return a, b, true
		}
	}
	return "", "", false
}

// findIn finds the first program with a name.
func findIn(folders []string, name string) (string, bool) {
	for _, dir := range folders {
		if path := filepath.Join(dir, name); isProgram(path) {
			return path, true
		}
	}
	return "", false
}

func isProgram(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil && filepath.IsAbs(path)
}

// folders returns those of PATH and those that match patterns.
func folders(patterns ...string) []string {
	list := filepath.SplitList(os.Getenv("PATH"))
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // fails for a bad pattern only
		list = append(list, matches...)
	}
	return list
}
