package engine

import (
	"context"
	"fmt"
	"time"
)

// Table is the table of a Set, with the settings that engines need.
type Table struct {
	Name
	Key         string
	Keep        bool                                         // of WithKeep
	Archive     func(ctx context.Context, name string) error // of WithArchive; nil: none
	LockTimeout time.Duration
	IdleTimeout time.Duration // limit of an idle transaction
	SwapTimeout time.Duration // limit of each statement of Adopt's swap
}

// NotFound is the error for a table that is not found.
func (t *Table) NotFound() error {
	return fmt.Errorf("%w: there is no table %v, or no right to see it", ErrTable, t.Name)
}

// CheckKey returns ErrTable for a key that does not exist, which has no type, or is no bigint.
func (t *Table) CheckKey(table Name, keyType string, bigint bool) error {
	switch {
	case keyType == "":
		return fmt.Errorf("%w: %v has no column %s", ErrTable, table, t.Key)
	case !bigint:
		return fmt.Errorf("%w: %v has the key %s of the type %s, want bigint", ErrTable, table, t.Key, keyType)
	}
	return nil
}

// Limits of time. SwapTimeout is for statements that take milliseconds, since none reads rows. The server ends a
// transaction for changes that was idle for IdleTimeout. It is never idle while its process lives: the server ends the
// transaction of a process that it can no longer reach.
const (
	IdleTimeout = 5 * time.Second
	SwapTimeout = 2 * time.Second
)

// Names of the locks of a table: for changes of its partitions, and for archiving a detached table, which may take
// hours.
const (
	ChangeLock  = "change"
	ArchiveLock = "archive"
)

// Values of Change.Action.
const (
	Create  = "create"
	Detach  = "detach"
	Drop    = "drop"
	Keep    = "keep"
	Archive = "archive"
	Alter   = "alter"
)

// Change is one step of a plan.
type Change struct {
	Action    string
	Partition string // its name, or the schema and the name of a detached table
	Lo, Hi    int64  // Lo <= key < Hi; NoLow, NoHigh: no bound
	Part      Part   // the partition or the detached table, if it exists
	Detached  bool   // it is a detached table
	Floor     int64  // rows with smaller keys prevent a drop; NoLow: none do
	Attempt   int    // from 0: see postgres.RelatedLocks
}
