package engine

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/internal/sqltable"
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

// CheckKey returns ErrTable if the key's column does not exist (keyType is empty) or is not a bigint.
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

// Name is the name of a table: with a schema (a database on MySQL) or in the connection's own.
type Name struct{ Schema, Table string }

func (n Name) String() string {
	if n.Schema == "" {
		return n.Table
	}
	return n.Schema + "." + n.Table
}

// State is what an engine found.
type State struct {
	Table    Name      // with its schema
	Now      time.Time // by the clock of the database
	Parts    []Part    // ascending, without the default partition
	Default  *Part     // the default partition
	Detached []Part    // tables that an earlier call detached, and that are not dropped, kept or archived yet
	Trigger  string    // a trigger that keeps partitions from becoming tables; MariaDB

	// What new partitions get, or lose, on PostgreSQL.
	Owner    string // of the table, if it is another role than the current one
	Storage  string // the access method and the tablespace
	Grantees string // roles whose default privileges new partitions lose
	Identity string // the replica identity, if it is not the default

	// Plain says that a backslash in a literal is one, on MySQL.
	Plain bool
}

// Part is a partition: the rows with Lo <= key && key < Hi.
type Part struct {
	Name
	Lo, Hi     int64  // NoLow, NoHigh: without a bound
	OID        int64  // PostgreSQL
	Comment    string // on MySQL, of the table that a partition belongs to
	Fixed      bool   // has partitions itself, or is a foreign table: it is never detached or dropped
	Pending    bool   // a DETACH CONCURRENTLY by hand was interrupted
	Archived   bool   // a detached table that the callback of WithArchive is done with
	Due        bool   // it is to be archived, or will be when this Set has detached it
	Reattached bool   // a partition that was detached, and attached again

	// MySQL
	Parent        Name   // of a partition; a detached table has none
	ExchangeTable string // a table that an earlier call made for the rows of the partition
	Moved         bool   // it has the rows
	Split         bool   // both have rows
}

// The bounds of a partition that has none.
const (
	NoLow  = math.MinInt64
	NoHigh = math.MaxInt64
)

// TableName returns the name of the table that a MySQL partition becomes. Names of partitions are unique in their table
// only, except for those that FitName has cut.
func (p Part) TableName() string {
	const most = 64 // bytes
	text := p.Parent.Table + "_" + p.Table
	if p.Parent.Table == "" || strings.HasPrefix(p.Table, p.Parent.Table+"_") || len(text) > most {
		return p.Table
	}
	return text
}

// MarkWords begins the line in the comment of a partition that this package detaches. Only tables with this line are
// dropped after they were detached.
const MarkWords = "sqlflake: detached from "

// dueWord is in the mark of a Set with WithArchive, until its callback has returned nil.
const archivedWord, dueWord = ", archived", ", to be archived"

var markForm = regexp.MustCompile(`(?m)\n?^` + MarkWords + `(".*"), keys (-?[0-9]+) to (-?[0-9]+)(` +
	archivedWord + `|` + dueWord + `)?$`)

// ReadMark reads the mark in the comment. It reports whether there is one that names the table.
func (p *Part) ReadMark(table Name) bool {
	match := markForm.FindStringSubmatch(p.Comment)
	if match == nil {
		return false
	}

	from, err := strconv.Unquote(match[1])
	lo, loErr := strconv.ParseInt(match[2], 10, 64)
	hi, hiErr := strconv.ParseInt(match[3], 10, 64)
	p.Lo, p.Hi, p.Archived, p.Due = lo, hi, match[4] == archivedWord, match[4] == dueWord

	readable := err == nil && loErr == nil && hiErr == nil
	return readable && from == table.String()
}

// ReadDetached reads the tables with a mark. The rows of the query have the OID, the schema, the name and the
// comment.
func (st *State) ReadDetached(ctx context.Context, q Querier, query string, args ...any) error {
	return sqltable.Query(ctx, q, query, args, func(scan func(...any) error) error {
		var p Part
		err := scan(&p.OID, &p.Schema, &p.Table, &p.Comment)
		if err == nil && p.ReadMark(st.Table) {
			st.Detached = append(st.Detached, p)
		}
		return err
	})
}

// Marked returns the comment with a mark.
func (p Part) Marked(table Name, archived bool) string {
	mark := fmt.Sprintf("%s%q, keys %d to %d", MarkWords, table.String(), p.Lo, p.Hi)
	switch {
	case archived:
		mark += archivedWord
	case p.Due:
		mark += dueWord
	}

	if before := p.Unmarked(); before != "" {
		return before + "\n" + mark
	}
	return mark
}

// Unmarked returns the comment without marks.
func (p Part) Unmarked() string { return markForm.ReplaceAllString(p.Comment, "") }
