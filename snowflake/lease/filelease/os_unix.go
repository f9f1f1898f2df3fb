//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filelease

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes an exclusive lock on f without waiting, and reports whether it did. It is flock(2): the lock belongs
// to the open file and not to the process, so it excludes a second open of the same process too. It ends when the last
// descriptor is closed, which the kernel does for a killed process.
func lockFile(f *os.File) (bool, error) {
	var err error = syscall.EINTR
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
		return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return err == nil, nil
}

// unlockFile ends the lock at once, even for copies of the open file.
func unlockFile(f *os.File) error {
	return os.NewSyscallError("flock", syscall.Flock(int(f.Fd()), syscall.LOCK_UN))
}

var replaceFile = os.Rename

// syncFolder makes the names in a folder durable: fsync(2) of a file does not cover its folder's entry.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncFile(dir), dir.Close())
}
