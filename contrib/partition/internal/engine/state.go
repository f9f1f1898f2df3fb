package engine

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

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
// only.
func (p Part) TableName() string {
	if p.Parent.Table == "" || strings.HasPrefix(p.Table, p.Parent.Table+"_") {
		return p.Table
	}
	return p.Parent.Table + "_" + p.Table
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
	return Each(ctx, q, query, args, func(scan func(...any) error) error {
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
