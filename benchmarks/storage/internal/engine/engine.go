// Package engine drives the databases that keys are compared on: tables, bulk loading, sizes and server counters.
package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/internal/tempdir"
)

// ErrNoBulk is returned by Bulk of an engine that has no faster way than INSERT.
var ErrNoBulk = Unsupported("no bulk load on this database")

// Engine is a database with a place for this run only: a schema, a database or a file, created by Open and removed by
// Close. It is safe for concurrent use, except Close.
type Engine interface {
	// Name is one of Names.
	Name() string
	// Dialect is "sqlite", "postgres" or "mariadb".
	Dialect() string
	// DB is the pool, with that place as its default.
	DB() *sql.DB
	// Settings returns the version and the settings that influence the figures, in a fixed order.
	Settings(ctx context.Context) ([]Setting, error)
	// Notes returns a sentence for each thing that cannot be measured here, with the reason.
	Notes() []string

	// Create creates a table; see Table.
	Create(ctx context.Context, t Table) error
	// Drop removes tables in the order given, and their pages.
	Drop(ctx context.Context, names ...string) error
	// Placeholder returns the parameter n of a statement, from 1.
	Placeholder(n int) string
	// Value converts a key to a parameter of the driver.
	Value(v any) any
	// Returning reports whether INSERT can return the keys that the database has made.
	Returning() bool
	// Bulk loads rows by the fastest way that a client of the database has, or returns ErrNoBulk.
	Bulk(ctx context.Context, conn *sql.Conn, table string, columns []string, rows [][]any) error

	// Settle brings the database into the same state before each run: dirty pages written, planner statistics fresh.
	Settle(ctx context.Context, tables ...string) error
	// Trees returns the B-trees (and heaps) of a table with their exact current sizes.
	Trees(ctx context.Context, table string) ([]Tree, error)
	// Usage returns what the server has used since its start.
	Usage(ctx context.Context) (Usage, error)
	// Close removes everything that Open and Create made, also after ctx has ended.
	Close() error
}

// Setting is a setting of the server or the machine.
type Setting struct{ Name, Value string }

// Table is a table to create. The key column is called id and comes first.
type Table struct {
	Name    string
	Kind    key.Kind
	Columns []Column
	Indexes [][]string
	// Fill is PostgreSQL's fillfactor of the primary key in percent; 0 is the default.
	Fill int
}

// Column is a column after the key.
type Column struct {
	Name string
	Type Type
	// References is the table that the column refers to. Its keys are of the same kind as the table's own.
	References string
}

// Type is the type of a column.
type Type int

// The types of columns.
const (
	Bigint Type = iota
	Name        // short text
	Moment      // a time
	Key         // of the kind of the primary key
)

// Role is what a B-tree is for.
type Role string

// The roles.
const (
	Rows      Role = "rows"      // the rows, stored without a key
	Clustered Role = "clustered" // the rows in the order of the primary key: table and index in one
	Primary   Role = "primary"   // the index of the primary key, separate from the rows
	Secondary Role = "secondary"
)

// Tree is a B-tree or a heap.
type Tree struct {
	Name  string
	Role  Role
	Bytes int64
	Pages int64 // in use, without empty ones; 0: unknown
	// Density is the used share of the leaf pages, 0 to 1; -1 if the database does not report it.
	Density float64
	// Fragmentation is the share of leaf pages that are not in order on disk, 0 to 1; -1 if unknown.
	Fragmentation float64
}

// Usage is what a server has used. Only differences are meaningful; -1 is unknown.
type Usage struct {
	Log        int64         // bytes of the write-ahead or redo log
	PageImages int64         // full pages in it
	Written    int64         // bytes written to data files
	Reads      int64         // pages that were not in the server's cache
	Hits       int64         // pages that were
	CPU        time.Duration // of the server's processes; 0 if it is part of this one
}

// Since returns the usage between before and u.
func (u Usage) Since(before Usage) Usage {
	return Usage{
		Log: since(u.Log, before.Log), PageImages: since(u.PageImages, before.PageImages),
		Written: since(u.Written, before.Written), Reads: since(u.Reads, before.Reads), Hits: since(u.Hits, before.Hits),
		CPU: since(u.CPU, before.CPU),
	}
}

func since[T ~int64](now, before T) T {
	if now < 0 || before < 0 {
		return -1
	}
	return now - before
}

// Names returns the names of the engines.
func Names() []string { return []string{"sqlite", "postgres", "postgres18", "mariadb"} }

// Config tells how to reach the databases.
type Config struct {
	SQLiteDir  string // folder of its files; empty: a temporary folder
	Postgres   string // DSN
	Postgres18 string // DSN of a second PostgreSQL, of version 18 or later
	MariaDB    string // DSN of github.com/go-sql-driver/mysql
	// Durable makes each commit wait for the disk. Without it commits do not wait, if a session can choose, so that the
	// figures are those of the B-trees and not of the disk: synchronous = NORMAL on SQLite, synchronous_commit = off on
	// PostgreSQL.
	Durable bool
}

// server is an engine on a server, connected by open.
type server interface {
	Engine
	open(ctx context.Context, durable bool) error
	cleanup(ctx context.Context) (removed []string, kept []Kept, err error)
}

func newServer(name string, c Config) (server, error) {
	switch name {
	case "postgres":
		return newPostgres(name, c.Postgres)
	case "postgres18":
		return newPostgres(name, c.Postgres18)
	case "mariadb":
		return newMariaDB(c.MariaDB)
	}
	return nil, fmt.Errorf("unknown database %q; there are %v", name, Names())
}

// Open opens an engine and creates its place.
func Open(ctx context.Context, name string, c Config) (Engine, error) {
	if name == "sqlite" {
		return openSQLite(ctx, c)
	}
	e, err := newServer(name, c)
	if err != nil {
		return nil, err
	}
	if err := e.open(ctx, c.Durable); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Cleanup removes the places of killed runs: those with the tool's name and comment whose process on this machine has
// ended and in which no session is open.
func Cleanup(ctx context.Context, name string, c Config) (removed []string, kept []Kept, err error) {
	if name == "sqlite" {
		removed, err = tempdir.Clean(c.SQLiteDir, tempdir.Files)
		return removed, nil, err
	}
	e, err := newServer(name, c)
	if err != nil {
		return nil, nil, err
	}
	return e.cleanup(ctx)
}

// Unsupported returns an error that is errors.ErrUnsupported: something that a database or its user cannot do. Its text
// is for a report.
func Unsupported(format string, args ...any) error { return unsupported{fmt.Errorf(format, args...)} }

type unsupported struct{ error }

func (unsupported) Is(target error) bool { return target == errors.ErrUnsupported }
func (u unsupported) Unwrap() error      { return u.error }
