package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

var (
	// ErrOption is returned by Open, and by the constructors and methods of stores, for an invalid option or argument.
	ErrOption = leasestore.ErrOption

	// ErrClosed is returned by the generator of a Lease after Close.
	ErrClosed = errors.New("lease: closed")

	// ErrLost means that another owner has the worker, a copy of this process has extended it, or the store has
	// forgotten the owner. With WithStopOnLoss the generator returns it.
	ErrLost = errors.New("lease: worker was taken over")

	// ErrNoWorker means that no requested worker is free. Open returns it, as a *NoWorkerError, if its context ends
	// before one is.
	ErrNoWorker = errors.New("lease: no free worker")

	// ErrLayout is returned by Acquire of a Store and by Open if the namespace is in use with another layout, IDs of
	// which can be equal: see sqllease.Store.Move.
	ErrLayout = errors.New("lease: the namespace has another layout")

	// ErrClockSkew is returned by Open if the generator's clock differs from the store's, or from the system clock if
	// the store has none, by more than WithMaxSkew. Ready returns it while no ID is due because the clocks were set
	// back.
	ErrClockSkew = errors.New("lease: the clock differs from the store's")

	// ErrBehindHorizon is returned by Open if the clock is behind the horizon of the worker by more than a window and
	// twice the accepted skew, or behind a store's floor by more than the greatest window and the skews allow: for that
	// long the generator could issue nothing. Ready returns it while the first ID of a worker is not due.
	ErrBehindHorizon = errors.New("lease: the clock is behind the horizon")

	// ErrDamaged is returned by a Store that can't read the state of a worker, for example from a file that was cut
	// off, edited, copied from another worker, or removed. The error names the file. The horizon is unknown then, so
	// the worker is not lent: restore the state, or lease other workers.
	ErrDamaged = errors.New("lease: damaged state")
)

// ReachError says that a namespace does not allow so long a window or so great a skew yet. It was raised so recently
// that a replica that is promoted may not know it.
type ReachError struct {
	Namespace    string
	Reach, Limit time.Duration // of the extension, and what is allowed until then
	Wait         time.Duration // until Reach is allowed
}

func (e *ReachError) Error() string {
	return fmt.Sprintf("lease: namespace %q allows horizons %v ahead of the store's clock, not %v, for another %v",
		e.Namespace, e.Limit, e.Reach, e.Wait.Round(time.Second))
}

// VersionError says that a later version of this module has changed a namespace in a way that this program does not
// know. Update the program. A lease that has a worker issues IDs up to its horizon.
type VersionError struct {
	Namespace string
	Version   string // of the protocol, that the namespace requires
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("lease: namespace %q requires version %.40s of the lease protocol, "+
		"which this program does not know: update the program", e.Namespace, e.Version)
}

// NoWorkerError says that all workers are held, or that the namespace waits for its start. It wraps ErrNoWorker.
type NoWorkerError struct {
	Namespace   string
	First, Last int64         // the requested workers
	Wait        time.Duration // until the first of them expires unless it is extended, or until the floor; 0 if unknown

	// Start is when the new layout of a namespace that has moved begins. Until then no worker is lent, and Wait ends at
	// it. It is zero if the layout has begun.
	Start time.Time
}

func (e *NoWorkerError) Error() string {
	if !e.Start.IsZero() {
		start := e.Start.UTC().Format(time.RFC3339Nano)
		return fmt.Sprintf("%v: namespace %q has moved to another layout, and lends workers from its start on, "+
			"%s, in %v", ErrNoWorker, e.Namespace, start, e.Wait.Round(time.Millisecond))
	}

	s := fmt.Sprintf("%v: all of %d to %d in namespace %q are held or not given out yet",
		ErrNoWorker, e.First, e.Last, e.Namespace)
	if e.Wait > 0 {
		s += fmt.Sprintf("; the first is free in %v, unless it is extended", e.Wait.Round(time.Millisecond))
	}
	return s
}

func (e *NoWorkerError) Unwrap() error { return ErrNoWorker }
