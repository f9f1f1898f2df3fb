// Package engine drives the databases on which keys are compared: tables, bulk loading, sizes and what the server counts.
package engine

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// ErrNoBulk is returned by Bulk of an engine that has nothing faster than INSERT.
var ErrNoBulk = Unsupported("no bulk load on this database")

// Engine is a database in which the tool has a place of its own: a schema, a database or a file that nobody else uses, made
// by Open and removed by Close. It is safe for concurrent use, except Close.
type Engine interface {
	// Name is "sqlite", "postgres" or "mariadb".
	Name() string
	// DB is the pool, with that place as its default.
	DB() *sql.DB
	// Settings returns the version and what else decides the figures, in a fixed order.
	Settings(ctx context.Context) ([]Setting, error)
	// Notes says what can't be measured here, and why; a sentence each.
	Notes() []string

	// Create makes a table; see Table.
	Create(ctx context.Context, t Table) error
	// Drop removes tables, in the order given, and what they left behind.
	Drop(ctx context.Context, names ...string) error
	// Placeholder is the parameter n of a statement, from 1.
	Placeholder(n int) string
	// Value is a key as a parameter for the driver.
	Value(v any) any
	// Returning reports whether INSERT can return the keys that the database has counted.
	Returning() bool
	// Bulk loads rows by the fastest way that the database has for a client, or returns ErrNoBulk.
	Bulk(ctx context.Context, conn *sql.Conn, table string, columns []string, rows [][]any) error

	// Settle makes the state before a run the same: dirty pages written, statistics of planners fresh.
	Settle(ctx context.Context, tables ...string) error
	// Trees returns the B-trees (and heaps) of a table, exact as of now.
	Trees(ctx context.Context, table string) ([]Tree, error)
	// Usage returns what has been used since the server started.
	Usage(ctx context.Context) (Usage, error)
	// Close removes all that Open and Create have made, also after ctx has ended.
	Close() error
}

// Setting is a name and a value of the server or the machine.
type Setting struct{ Name, Value string }

// Table is a table to be made: the key column is called id and comes first.
type Table struct {
	Name    string
	Kind    key.Kind
	Columns []Column
	Indexes [][]string
	// Fill is PostgreSQL's fillfactor of the primary key, in percent; 0 for the default.
	Fill int
}

// Column is a column after the key.
type Column struct {
	Name string
	Type Type
	// References is the table whose key the column has; of the same kind as the table's own.
	References string
}

// Type is the type of a column.
type Type int

// The types of columns.
const (
	Bigint Type = iota
	Name        // short text
	Moment      // a time
	Key         // as the primary key
)

// Role is what a B-tree is for.
type Role string

// The roles.
const (
	Rows      Role = "rows"      // the rows, without a key of their own
	Clustered Role = "clustered" // the rows in the order of the primary key, which is the index as well
	Primary   Role = "primary"   // the index of the primary key beside the rows
	Secondary Role = "secondary"
)

// Tree is a B-tree or a heap.
type Tree struct {
	Name  string
	Role  Role
	Bytes int64
	// Density is the share of the leaf pages that holds entries, 0 to 1; -1 if the database does not tell.
	Density float64
	// Fragmentation is the share of leaf pages that are not in order on disk, 0 to 1; -1 if unknown.
	Fragmentation float64
}

// Usage is what a server has used. Differences count; -1 stands for what is not known.
type Usage struct {
	Log        int64         // bytes of the write-ahead or redo log
	PageImages int64         // full pages in it
	Written    int64         // bytes written to data files
	Reads      int64         // pages that were not in the server's cache
	Hits       int64         // pages that were
	CPU        time.Duration // of the server's processes; 0 if it is part of this one
}

// Since returns what was used between before and u.
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

// Names are the engines.
func Names() []string { return []string{"sqlite", "postgres", "mariadb"} }

// Config says how to reach the databases.
type Config struct {
	SQLiteDir string // where its files go; empty: a temporary folder
	Postgres  string // DSN
	MariaDB   string // DSN of github.com/go-sql-driver/mysql
	// Durable keeps the database's own settings for commits. Without it commits are not flushed where a session may choose
	// that, so that the figures are those of the B-trees and not of the disk.
	Durable bool
}

// Open opens an engine and makes its place.
func Open(ctx context.Context, name string, c Config) (Engine, error) {
	switch name {
	case "sqlite":
		return openSQLite(ctx, c)
	case "postgres":
		return openPostgres(ctx, c)
	case "mariadb":
		return openMariaDB(ctx, c)
	default:
		return nil, fmt.Errorf("no database is called %q; there are %v", name, Names())
	}
}
