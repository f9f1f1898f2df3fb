//go:build unix

package tempdir

import (
	"os"
	"syscall"
)

// lock fails if another process, or another folder's owner in this one, holds the lock.
func lock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
