// Package sqltable creates the tables in which other packages keep what must not come twice. A second table of the same
// name does as much harm as a lost one, so a table is created only if the database says that there is none.
package sqltable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

const (
	attempts = 10
	pause    = 20 * time.Millisecond
)

// Tables are tables that belong together, and may be missing.
type Tables struct {
	DB      sqldb.DB
	Dialect sqldb.Dialect
	Parts   []Part
	Read    func(names []string) string // selects every column of the tables and no row
	Remedy  string                      // what to do if the first table is %[1]s
	Refused error                       // wrapped if tables must not be used or created; a repetition does not help
	Damaged error                       // wrapped if one is missing while another has rows
}

// Part is one of the tables.
type Part struct {
	Name   string // in quotes, with or without a schema
	Create string // CREATE TABLE IF NOT EXISTS
}

// Ensure creates the tables if the database says that they are missing. It may run at the same time in any number of
// processes. It returns Refused if a table exists in another schema than the one that its name leads to, Damaged if one
// table was lost, and other errors of the database after some attempts. find is Find, or calls it.
func (t Tables) Ensure(ctx context.Context, find func(context.Context) ([]Place, error)) error {
	return Repeat(ctx, attempts, pause, func() (done bool, err error) {
		missing, places, err := t.missing(ctx, find)
		if err == nil && len(missing) > 0 {
			// The slower of two at the same time may get an error, and finds the tables afterwards.
			err = t.create(ctx, places, missing)
		}

		isComplete := err == nil && len(missing) == 0
		isRefused := errors.Is(err, t.Refused) || errors.Is(err, t.Damaged)
		return isComplete || err != nil && isRefused, err
	})
}

// Repeat calls try until that is done, or was called so many times, and returns its last error. Between two calls it
// waits for a random time, at most pause times the number of calls. It also ends with ctx.
func Repeat(ctx context.Context, attempts int, pause time.Duration, try func() (done bool, err error)) error {
	for attempt := 1; ; attempt++ {
		done, err := try()
		if done || attempt == attempts {
			return err
		}

		select {
		case <-time.After(rand.N(pause * time.Duration(attempt))):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// missing returns which tables are missing. If none is, all of them can be read.
func (t Tables) missing(
	ctx context.Context, find func(context.Context) ([]Place, error),
) (missing []int, places []Place, err error) {
	places, err = find(ctx)
	if err != nil {
		return nil, nil, err
	}

	for i, place := range places {
		if place.Missing {
			missing = append(missing, i)
		}
	}
	if len(missing) > 0 {
		return missing, places, nil
	}

	err = Query(ctx, t.DB, t.Read(t.names(places)), nil, nil)
	if !isMissing(err) || places != nil { // a table that the catalogue has, and the connection does not see
		return nil, places, err
	}

	for i := range t.Parts {
		if _, err := t.hasRows(ctx, t.Parts[i].Name); isMissing(err) {
			missing = append(missing, i)
		}
	}
	return missing, places, nil
}

func (t Tables) hasRows(ctx context.Context, name string) (found bool, err error) {
	err = Query(ctx, t.DB, "SELECT 1 FROM "+name+" LIMIT 1", nil, func(func(...any) error) error {
		found = true
		return nil
	})
	return found, err
}

// names returns the names with the schema that was found: others would be unknown.
func (t Tables) names(places []Place) (names []string) {
	for i, part := range t.Parts {
		if places != nil && !places[i].Missing {
			part.Name = places[i].Table
		}
		names = append(names, part.Name)
	}
	return names
}

// create creates what is missing: all tables, or some of them in the schema of the others, which must be empty.
func (t Tables) create(ctx context.Context, places []Place, missing []int) error {
	if len(missing) == len(t.Parts) {
		for _, place := range places {
			if place.Others != "" {
				return t.elsewhere(place.Others)
			}
		}
		return t.createAll(ctx)
	}

	names := t.names(places)
	schema := ""
	for i, name := range names {
		if slices.Contains(missing, i) {
			continue
		}

		found, err := t.hasRows(ctx, name)
		switch {
		case err != nil:
			return err
		case found && t.Damaged != nil:
			return fmt.Errorf("%w: the table %s is missing, and %s has rows: restore it",
				t.Damaged, t.Parts[missing[0]].Name, name)
		case places != nil:
			schema = places[i].Schema + "."
		}
	}

	for _, i := range missing {
		name, qualified := t.Parts[i].Name, strings.Contains(t.Parts[i].Name, ".")
		create := t.Parts[i].Create
		if !qualified {
			create = strings.Replace(create, name, schema+name, 1)
		}
		if _, err := t.DB.ExecContext(ctx, create); err != nil {
			return err
		}
	}
	return nil
}

func (t Tables) elsewhere(others string) error {
	first, _, _ := strings.Cut(others, ", ")
	return fmt.Errorf("%w: this database has %s, which is not what %s means on this connection. All processes must "+
		"use one table: %s, and grant the role USAGE on the schema. For a second table, whose IDs may be equal, name "+
		"the schema that is to have it",
		t.Refused, others, t.Parts[0].Name, fmt.Sprintf(t.Remedy, first))
}

// missingText is what the MySQL and SQLite drivers say when a table is missing. They export no interface for it.
var missingText = regexp.MustCompile(`(?i)\berror 1146\b|no such table`)

func isMissing(err error) bool {
	return err != nil && (State(err) == "42P01" || missingText.MatchString(err.Error()))
}

// State returns the SQLSTATE of an error from pgx or lib/pq; "" for others.
func State(err error) string {
	var server interface{ SQLState() string }
	if errors.As(err, &server) {
		return server.SQLState()
	}
	return ""
}

// Query calls row for each row of the answer; nil if there can be none. It reads to the end, unlike QueryRow: the
// commit of a statement that changes something comes after the row, and only the commit counts.
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
