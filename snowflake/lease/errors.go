package lease

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrLost is returned by Extend and Release of a Store when another owner has
	// taken the worker over.
	ErrLost = errors.New("lease: worker was taken over")

	// ErrNoWorker is returned by Acquire of a Store, and by Open when the context
	// ends, when all workers of the namespace are held. The error is a
	// *NoWorkerError.
	ErrNoWorker = errors.New("lease: no free worker")

	// ErrLayout is returned by Acquire of a Store and by Open when the namespace
	// is in use with another layout: IDs of the two could be the same.
	ErrLayout = errors.New("lease: the namespace has another layout")

	// ErrClockSkew is returned by Open when the wall clock and the store's differ
	// by more than the limit.
	ErrClockSkew = errors.New("lease: the clock differs from the store's")

	// ErrBehindHorizon is returned by Open when the clock is behind the horizon
	// of the worker it got by more than a window and twice the greatest skew: the
	// generator could issue nothing for that long.
	ErrBehindHorizon = errors.New("lease: the clock is behind the horizon")

	// ErrOption is returned by Open and by the constructors of stores for invalid settings.
	ErrOption = errors.New("lease: invalid setting")

	// ErrDamaged is returned by a Store whose state of a worker can't be read: on files, one that was cut off,
	// edited, copied from another worker, or removed. The error names it. The horizon is unknown then, so the
	// worker is not handed out: restore the state, or lease other workers.
	ErrDamaged = errors.New("lease: damaged state")
)

// NoWorkerError says that all workers are held, and until when at the most the
// first of them is if its owner is gone. It wraps ErrNoWorker.
type NoWorkerError struct {
	Namespace   string
	First, Last int64         // the workers that were asked for
	Wait        time.Duration // until the first expiry; 0 if unknown
}

// Error names the namespace, the workers and the wait.
func (e *NoWorkerError) Error() string {
	s := fmt.Sprintf("%v: all of %d to %d in namespace %q are held", ErrNoWorker, e.First, e.Last, e.Namespace)
	if e.Wait > 0 {
		s += fmt.Sprintf("; the first expires in %v unless it is extended", e.Wait.Round(time.Millisecond))
	}
	return s
}

// Unwrap returns ErrNoWorker.
func (e *NoWorkerError) Unwrap() error { return ErrNoWorker }
