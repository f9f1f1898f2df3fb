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
	dirPrefix = "sqlflake-srv-" // short, since the path of a socket in it has about a hundred bytes
	lockName  = "lock"          // held while the process lives
	sweepAge  = time.Minute     // younger folders may not have their lock yet
)

// newDir makes a folder that nobody else can read, and takes its lock.
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

// sweep removes what processes have left behind that were killed: folders whose lock nobody holds.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*")) // fails for a bad pattern only
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
		if err != nil {
			continue // somebody else's, or none of ours
		}
		if flock(lock) == nil {
			_ = os.RemoveAll(dir) // best effort
		}
		_ = lock.Close()
	}
}

// findBeside returns two programs of one folder.
func findBeside(folders []string, first, second string) (string, string, bool) {
	for _, dir := range folders {
		a, b := filepath.Join(dir, first), filepath.Join(dir, second)
		if isProgram(a) && isProgram(b) {
			return a, b, true
		}
	}
	return "", "", false
}

// findIn returns the first program of a name.
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

// folders are those of PATH and those that match patterns.
func folders(patterns ...string) []string {
	list := filepath.SplitList(os.Getenv("PATH"))
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // fails for a bad pattern only
		list = append(list, matches...)
	}
	return list
}
