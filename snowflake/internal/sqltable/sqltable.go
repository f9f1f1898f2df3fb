// Package sqltable creates the tables in which other packages keep what must not come twice. A second table of the same
// name is as bad as a lost one, so a table is created only if the database says that there is none.
package sqltable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

const (
	attempts = 10
	pause    = 20 * time.Millisecond // at most, times the attempt
)

// Table is a table that may be missing.
type Table struct {
	DB      sqldb.DB
	Dialect sqldb.Dialect
	Name    string // in quotes, with or without a schema
	Create  string // CREATE TABLE IF NOT EXISTS
	Read    string // selects every column and no row
	Remedy  string // what to do if the table is %[1]s
	Refused error  // wrapped by errors about a table that must not be used or created; a repetition does not help
}

// Ensure creates the table if the database says that it is missing. It may run at the same time in any number of
// processes. It returns Refused if the name leads to another schema than that of a table that is there, and other errors
// of the database after some attempts. find is Find, or calls it.
func (t Table) Ensure(ctx context.Context, find func(context.Context) (Place, error)) error {
	for attempt := 1; ; attempt++ {
		place, err := find(ctx)
		missing := place.Missing
		if err == nil && !missing {
			err = Query(ctx, t.DB, t.read(place), nil, nil)
			missing = isMissing(err) && place.Table == ""
		}

		if missing && place.Others != "" {
			return t.elsewhere(place.Others)
		}
		if missing {
			// The slower of two at the same time may get an error, and finds the table afterwards.
			err = t.create(ctx)
		}
		done := err == nil && !missing
		if done || errors.Is(err, t.Refused) || attempt == attempts {
			return err
		}

		select {
		case <-time.After(rand.N(pause * time.Duration(attempt))):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// read names the table that was found: another one would be unknown.
func (t Table) read(place Place) string {
	if t.Dialect != sqldb.Postgres || place.Table == "" {
		return t.Read
	}
	return strings.Replace(t.Read, t.Name, place.Table, 1)
}

func (t Table) elsewhere(others string) error {
	first, _, _ := strings.Cut(others, ", ")
	return fmt.Errorf("%w: this database has %s, which is not what %s means on this connection. All processes must use one table: "+
		"%s, and grant the role USAGE on the schema. For a second table, whose IDs may be equal, name the schema that is to have it",
		t.Refused, others, t.Name, fmt.Sprintf(t.Remedy, first))
}

// missingText is what the drivers of MySQL and SQLite say of a table that is missing. They export no interface for it.
var missingText = regexp.MustCompile(`(?i)\berror 1146\b|no such table`)

func isMissing(err error) bool {
	if state := State(err); state != "" {
		return state == "42P01"
	}
	return err != nil && missingText.MatchString(err.Error())
}

// State returns the SQLSTATE of an error of pgx and lib/pq; "" for others.
func State(err error) string {
	var server interface{ SQLState() string }
	if errors.As(err, &server) {
		return server.SQLState()
	}
	return ""
}

// Query calls row for each row of the answer; nil if there can be none. It reads to the end, unlike QueryRow: the commit
// of a statement that changes something comes after the row, and only the commit counts.
func Query(ctx context.Context, db sqldb.DB, query string, args []any, row func(scan func(...any) error) error) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()

	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
