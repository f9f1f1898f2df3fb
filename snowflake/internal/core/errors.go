package core

import (
	"context"
	"errors"
	"fmt"
)

// The sentinels that package snowflake exports and documents.
var (
	ErrFieldRange    = errors.New("snowflake: field value out of range")
	ErrBeforeEpoch   = errors.New("snowflake: time before the epoch")
	ErrTimeExhausted = errors.New("snowflake: time exhausted")
	ErrOption        = errors.New("snowflake: invalid option")
	ErrNoGenerator   = errors.New("snowflake: generator was not made by New")
	ErrEmptyFill     = errors.New("snowflake: nothing to fill")
	ErrLeaseStalled  = errors.New("snowflake: the lease was not extended in time")
)

var (
	errForeignClock = errors.New("snowflake: the generator was created inside another testing/synctest bubble or outside of any")

	// errBeyond means that the state is above the limit but below the layout's end: the lease has to be extended, or
	// another worker has replaced this one. It is never wrapped.
	errBeyond = errors.New("snowflake: beyond the horizon")
)

// fieldError names the value that does not fit into a field. It matches ErrFieldRange without repeating its text.
type fieldError struct {
	field      string
	value, max int64
}

func (e *fieldError) Error() string {
	return fmt.Sprintf("snowflake: %s %d out of range [0, %d]", e.field, e.value, e.max)
}

func (e *fieldError) Is(target error) bool { return target == ErrFieldRange }

// contextError returns the error of a call whose context has ended.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return fmt.Errorf("snowflake: no ID yet: %w", cause)
	}
	return fmt.Errorf("snowflake: no ID yet: %w: %w", err, cause)
}
