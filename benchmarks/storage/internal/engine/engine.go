// Package engine drives the databases that keys are compared on: tables and their sizes.
package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// Engine is a database with a place for this run only: a schema, a database or a file, created by Open and removed by
// Close. It is safe for concurrent use, except Settle and Close.
type Engine interface {
	// Name is one of Names, or "mysql" if that is the product at the DSN for "mariadb".
	Name() string
	// Dialect is "sqlite", "postgres" or "mariadb".
	Dialect() string
	// DB is the pool, with that place as its default.
	DB() *sql.DB
	// Settings returns the version and the settings that influence the figures, in a fixed order.
	Settings(ctx context.Context) ([]measure.Setting, error)
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

	// Settle brings the database into the same state before each run: dirty pages written, planner statistics fresh.
	Settle(ctx context.Context, tables ...string) error
	// Sizes returns the current sizes of a table.
	Sizes(ctx context.Context, table string) (Sizes, error)
	// Close removes everything that Open and Create made, even after ctx has ended.
	Close() error
}

// Dial connects to a server at the address that the engine expects.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Remote is an engine on a network.
type Remote interface {
	Engine
	// Through returns another pool for the engine's place that connects with dial, and a function that closes it.
	Through(dial Dial) (db *sql.DB, done func() error)
}

// Table is a table to create. The key column is called id and comes first.
type Table struct {
	Name    string
	Kind    key.Kind
	Columns []Column
	Indexes []string // columns with an index
}

// Column is a column after the key: a bigint, unless it is a text or refers to a table.
type Column struct {
	Name       string
	Text       bool   // short
	References string // the table that it refers to, whose keys are of the same kind as the table's own
}

// Sizes are the bytes of a table's heap and B-trees.
type Sizes struct {
	Table     int64 // all of them
	Primary   int64 // the index of the primary key; 0 if the table itself is in the order of the key
	Secondary int64 // the other indexes
}

// Names returns the names of the engines.
func Names() []string { return []string{"sqlite", "postgres", "postgres18", "mariadb"} }

// Open opens an engine and creates its place, on the server of a DSN or, for SQLite, in a folder, "" for a temporary
// one. Commits do not wait for the disk if a session can choose, so the figures show the B-trees:
// synchronous = NORMAL on SQLite, synchronous_commit = off on PostgreSQL.
func Open(ctx context.Context, name, at string) (Engine, error) {
	switch name {
	case "sqlite":
		return openSQLite(ctx, at)
	case "postgres", "postgres18":
		return openPostgres(ctx, name, at)
	default:
		return openMariaDB(ctx, at)
	}
}

// Unsupported returns an error that is errors.ErrUnsupported: something that a database or its user cannot do. Its text
// is for a report.
func Unsupported(format string, args ...any) error { return unsupported{fmt.Errorf(format, args...)} }

type unsupported struct{ error }

func (unsupported) Is(target error) bool { return target == errors.ErrUnsupported }
