// Package filelock locks open files for one process at a time. The kernel gives a lock up when its process ends, however it
// does, so that none is ever left behind.
package filelock

import "errors"

// ErrHeld is returned by Lock if somebody else holds the lock.
var ErrHeld = errors.New("another process holds the lock")
