//go:build unix

package measure

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file until it is closed, without waiting. The error is errHeld if another process, or this one through
// another os.File, holds the lock, and another error if the file system has no locks.
func lock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errHeld
		}
		return err
	}
}
