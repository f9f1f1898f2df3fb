package partition

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// state is what an engine found.
type state struct {
	table       name      // with its schema
	now         time.Time // by the clock of the database
	parts       []part    // ascending, without the default partition
	defaultPart *part     // the default partition
	detached    []part    // detached by an earlier call that did not get to what follows
	owner       string    // of the table, if it is another role than the current one; PostgreSQL
	storage     string    // the access method and the tablespace of new partitions; PostgreSQL
	grantees    string    // roles whose default privileges new partitions lose; PostgreSQL
	identity    string    // the replica identity of new partitions, if it is not the default; PostgreSQL
	plain       bool      // a backslash in a literal is one; MySQL
	trigger     string    // a trigger that keeps partitions from becoming tables; MariaDB
}

// part is a partition: the rows with lo <= key && key < hi.
type part struct {
	name
	lo, hi   int64  // noLow, noHigh: without a bound
	rows     int64  // as the database estimates; -1: unknown
	bytes    int64  // with indexes; -1: unknown
	oid      int64  // PostgreSQL
	comment  string // on MySQL, of the table that a partition belongs to
	fixed    bool   // has partitions itself, or is a foreign table: it is never detached or dropped
	pending  bool   // a DETACH CONCURRENTLY was interrupted
	archived bool   // a detached table that the callback of WithArchive is done with
	due      bool   // it is to be archived, or will be when this Set has detached it

	interrupted bool // a partition with the mark of a DETACH CONCURRENTLY that has not begun

	// MySQL
	parent        name   // of a partition; a detached table has none
	exchangeTable string // a table that an earlier call made for the rows of the partition
	moved         bool   // it has the rows
	split         bool   // both have rows
}

const (
	noLow  = math.MinInt64
	noHigh = math.MaxInt64
)

// markWords begins the line in the comment of a partition that this package detaches. Only tables with this line are
// dropped after they were detached.
const markWords = "sqlflake: detached from "

// A mark with dueWord is of a Set with WithArchive whose callback has not returned nil yet.
const archivedWord, dueWord = ", archived", ", to be archived"

var markForm = regexp.MustCompile(`(?m)\n?^` + markWords + `(".*"), keys (-?[0-9]+) to (-?[0-9]+)(` +
	archivedWord + `|` + dueWord + `)?$`)

// readMark reads the mark in the comment. It reports whether there is one that names the table.
func (p *part) readMark(table name) bool {
	match := markForm.FindStringSubmatch(p.comment)
	if match == nil {
		return false
	}
	from, err := strconv.Unquote(match[1])
	lo, loErr := strconv.ParseInt(match[2], 10, 64)
	hi, hiErr := strconv.ParseInt(match[3], 10, 64)
	p.lo, p.hi, p.archived, p.due = lo, hi, match[4] == archivedWord, match[4] == dueWord
	return err == nil && loErr == nil && hiErr == nil && from == table.String()
}

// readDetached reads the tables with a mark. The rows of the query have the OID, the schema, the name, the rows, the bytes
// and the comment.
func (st *state) readDetached(ctx context.Context, q querier, query string, args ...any) error {
	return each(ctx, q, query, args, func(scan func(...any) error) error {
		var p part
		err := scan(&p.oid, &p.schema, &p.table, &p.rows, &p.bytes, &p.comment)
		if err == nil && p.readMark(st.table) {
			st.detached = append(st.detached, p)
		}
		return err
	})
}

// marked returns the comment with a mark.
func (p part) marked(table name, archived bool) string {
	mark := fmt.Sprintf("%s%q, keys %d to %d", markWords, table.String(), p.lo, p.hi)
	switch {
	case archived:
		mark += archivedWord
	case p.due:
		mark += dueWord
	}
	if before := p.unmarked(); before != "" {
		return before + "\n" + mark
	}
	return mark
}

// unmarked returns the comment without marks.
func (p part) unmarked() string { return markForm.ReplaceAllString(p.comment, "") }
