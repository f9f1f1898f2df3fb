package engine

import (
	"errors"
	"fmt"
)

// Unsupported returns an error that is errors.ErrUnsupported: something that a database or its user cannot do. Its text
// is for a report.
func Unsupported(format string, args ...any) error { return unsupported{fmt.Errorf(format, args...)} }

type unsupported struct{ error }

func (unsupported) Is(target error) bool { return target == errors.ErrUnsupported }
func (u unsupported) Unwrap() error      { return u.error }
