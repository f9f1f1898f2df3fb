// Package key has the kinds of primary keys to compare: how each is made and stored.
package key

import (
	"fmt"
	"slices"
	"strings"
)

// Store is how a key is stored. The engine chooses the column type.
type Store int

// The stores.
const (
	Integer Store = iota // 8 bytes
	UUID                 // 16 bytes, or the database's own type
	Text                 // as readable text
)

// Kind is a way to make keys and to store them.
type Kind struct {
	Name  string // in -keys, in files
	Title string // in tables and charts
	Store Store

	Counted  bool // the database makes the key, and none is sent
	ReadBack bool // ... and the program reads it back
	// Strict is SQLite's AUTOINCREMENT, which never reuses a number and stores the last one.
	Strict bool
	// Beside makes the key of a SQLite table a separate B-tree, as every type but INTEGER does.
	Beside bool
	// Only is the engine that has this kind; empty: all.
	Only string

	source func(Config) (Source, error)
}

// Source makes keys. It is not safe for concurrent use: each client has its own.
type Source interface {
	// Draw sets dst to new keys, as values for a driver: int64, [16]byte or string.
	Draw(dst []any) error
}

// Config describes the client of a Source.
type Config struct {
	Seed    uint64 // seed of the random numbers
	Client  int    // 0, 1, ...: each client has keys of its own
	Clients int    // the number of clients, at least 1
}

// New returns a source of keys, nil for keys that the database makes.
func (k Kind) New(c Config) (Source, error) {
	if k.source == nil {
		return nil, nil
	}
	return k.source(c)
}

// OnEngine reports whether the kind exists on an engine.
func (k Kind) OnEngine(name string) bool { return k.Only == "" || k.Only == name }

// Kinds returns all kinds in the order of reports. The others are compared with the first.
func Kinds() []Kind {
	return []Kind{
		{Name: "auto", Title: "auto-increment", Counted: true},
		{Name: "auto-readback", Title: "auto-increment, read back", Counted: true, ReadBack: true},
		{Name: "autoincrement", Title: "AUTOINCREMENT", Counted: true, Strict: true, Only: "sqlite"},
		{Name: "explicit", Title: "1, 2, 3 sent by the client", source: counting},
		{Name: "snowflake", Title: "snowflake", source: snowflakes},
		{Name: "snowflake-workers", Title: "snowflake, several workers", source: workersInTurn},
		{Name: "snowflake-53", Title: "snowflake, 53 bits", source: safeSnowflakes},
		{Name: "snowflake-first", Title: "snowflake, worker bits on top", source: workerFirst},
		{Name: "snowflake-reversed", Title: "snowflake, bits reversed", source: reversed},
		{Name: "snowflake-bigint", Title: "snowflake in a bigint key", Beside: true, Only: "sqlite", source: snowflakes},
		{Name: "uuidv7", Title: "UUIDv7", Store: UUID, source: uuidV7},
		{Name: "uuidv4", Title: "UUIDv4", Store: UUID, source: uuidV4},
		// Scenario change goes on with UUIDv7 after half of the rows.
		{Name: "uuidv4-to-v7", Title: "UUIDv4, then UUIDv7", Store: UUID, source: uuidV4},
		{Name: "uuidv7-text", Title: "UUIDv7 as text", Store: Text, source: asText(uuidV7)},
		{Name: "uuidv4-text", Title: "UUIDv4 as text", Store: Text, source: asText(uuidV4)},
		{Name: "ulid-text", Title: "ULID as text", Store: Text, source: ulids},
	}
}

// Find returns the kinds with the given names, in the order of Kinds. The error for an unknown name lists all names.
func Find(names []string) ([]Kind, error) {
	all := Kinds()
	for _, name := range names {
		if !slices.ContainsFunc(all, func(k Kind) bool { return k.Name == name }) {
			return nil, fmt.Errorf("unknown kind of key %q; there are %s", name, strings.Join(Names(all), ", "))
		}
	}
	return slices.DeleteFunc(all, func(k Kind) bool { return !slices.Contains(names, k.Name) }), nil
}

// Names returns the names of kinds.
func Names(kinds []Kind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}
