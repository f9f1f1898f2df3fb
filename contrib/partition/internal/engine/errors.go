package engine

import (
	"errors"
	"fmt"
)

// Errors that package partition exports and describes.
var (
	ErrOption  = errors.New("partition: invalid option")
	ErrTable   = errors.New("partition: unsuitable table")
	ErrBlocked = errors.New("partition: step blocked")
	ErrLocked  = errors.New("partition: lock not available")
)

// ErrBusy means that another process maintains the table.
var ErrBusy = errors.New("partition: another process maintains the table")

// ErrChanging is about a partition that is detached or dropped while it is read.
var ErrChanging = errors.New("another process changes it")

// OwnLock is the error of a change that was refused a lock that no other change needs.
type OwnLock struct{ Err error }

func (e OwnLock) Error() string { return e.Err.Error() }
func (e OwnLock) Unwrap() error { return e.Err }

// Problem returns what Maintain leaves to people, about a partition, or about the table if partition is empty.
func Problem(partition, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if partition != "" {
		err = fmt.Errorf("%s: %w", partition, err)
	}
	return fmt.Errorf("%w: %w", ErrBlocked, err)
}
