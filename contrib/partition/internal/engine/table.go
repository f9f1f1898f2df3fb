package engine

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Table is the table of a Set, with the settings that engines need.
type Table struct {
	Name
	Key         string
	Path        string // the search_path of the session, see Engine.Connect
	WantDefault bool
	Rename      func(string) string                          // of WithKeep; nil: none
	Archive     func(ctx context.Context, name string) error // of WithArchive; nil: none
	LockTimeout time.Duration
	IdleTimeout time.Duration // limit of an idle transaction
	SwapTimeout time.Duration // limit of each statement of Adopt's swap
}

// KeptName returns the name that WithKeep gives to a partition.
func (t *Table) KeptName(p Part) Name {
	text := t.Rename(p.TableName())
	if schema, table, ok := strings.Cut(text, "."); ok {
		return Name{schema, table}
	}
	return Name{p.Schema, text}
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
	Rename  = "rename"
	Archive = "archive"
	Alter   = "alter"
	Rewrite = "rewrite"
)

// Change is one step of a plan.
type Change struct {
	Action    string
	Partition string // its name, or the schema and the name of a detached table
	Lo, Hi    int64  // Lo <= key < Hi; NoLow, NoHigh: no bound; both 0: the default partition
	Part      Part   // the partition or the detached table, if it exists
	Detached  bool   // it is a detached table
	Finish    bool   // a part of it runs outside of the lock
	Floor     int64  // rows with smaller keys prevent a drop; NoLow: none do
	Attempt   int    // from 0: see postgres.RelatedLocks
}

// IsDefault reports whether a change is about the default partition.
func (c Change) IsDefault() bool { return c.Lo == 0 && c.Hi == 0 }
