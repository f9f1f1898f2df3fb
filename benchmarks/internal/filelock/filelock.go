// Package filelock locks open files for one process at a time. The kernel releases a lock when its process ends in any
// way, so no lock is left behind.
package filelock

import "errors"

// ErrHeld is returned by Lock if the lock is held.
var ErrHeld = errors.New("another process holds the lock")
