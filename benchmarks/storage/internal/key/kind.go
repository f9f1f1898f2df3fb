// Package key has the kinds of primary keys to compare: how each is made and stored.
package key

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/sqlflake/sqlflake/snowflake"
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
	// Length is the bytes of a text.
	Length int

	Counted  bool // the database makes the key, and none is sent
	ReadBack bool // ... and the program reads it back
	// Default is the PostgreSQL function that makes a Counted key; empty: the database counts.
	Default string
	// Strict is SQLite's AUTOINCREMENT, which never reuses a number and stores the last one.
	Strict bool
	// Beside makes the key of a SQLite table a separate B-tree, as every type but INTEGER does.
	Beside bool
	// Only begins the names of the engines that have this kind; empty: all.
	Only string

	source func(Config) (Source, error)
	paced  func(Config) (Source, error) // with Config.Pace; nil: as without
}

// New returns a source of keys, nil for keys that the database makes.
func (k Kind) New(c Config) (Source, error) {
	switch {
	case k.source == nil:
		return nil, nil
	case c.Pace > 0 && k.paced != nil:
		return k.paced(c)
	}
	return k.source(c)
}

// OnEngine reports whether the kind exists on an engine.
func (k Kind) OnEngine(name string) bool { return strings.HasPrefix(name, k.Only) }

// Kinds returns all kinds in the order of reports. The others are compared with the first.
func Kinds() []Kind {
	return []Kind{
		{Name: "auto", Title: "auto-increment", Counted: true},
		{Name: "auto-readback", Title: "auto-increment, key read back", Counted: true, ReadBack: true},
		{
			Name: "autoincrement", Title: "AUTOINCREMENT, numbers never reused", Counted: true, Strict: true,
			Only: "sqlite",
		},
		snowflakes("snowflake", "snowflake", snowflake.Default()),
		snowflakes("snowflake-clustered", "clustered snowflake", snowflake.Clustered()),
		snowflakes("snowflake-seconds", "snowflake, ticks of 1 s", snowflake.MustPreset("seconds")),
		{Name: "snowflake-skewed", Title: "snowflake, 16 workers with different clocks", source: skewed},
		// Its sequence is short, so it waits for ticks.
		snowflakes("snowflake-53", "snowflake of 53 bits, for JavaScript", snowflake.MustPreset("javascriptsafe")),
		{
			Name: "snowflake-bigint", Title: "snowflake in a bigint column", Beside: true, Only: "sqlite",
			source: workers(snowflake.Default()),
		},

		{
			Name: "uuidv7", Title: "UUIDv7", Store: UUID, source: uuids(uuid.NewV7FromReader, binaryUUID),
			paced: pacedUUIDs,
		},
		{
			Name: "uuidv7-server", Title: "UUIDv7, made by the server", Store: UUID, Counted: true, Default: "uuidv7()",
			Only: "postgres18",
		},
		{Name: "uuidv4", Title: "UUIDv4", Store: UUID, source: uuids(uuid.NewRandomFromReader, binaryUUID)},
		{
			Name: "uuidv7-text", Title: "UUIDv7 as text", Store: Text, Length: 36,
			source: uuids(uuid.NewV7FromReader, textUUID),
		},
		{
			Name: "uuidv4-text", Title: "UUIDv4 as text", Store: Text, Length: 36,
			source: uuids(uuid.NewRandomFromReader, textUUID),
		},
		{Name: "ulid-text", Title: "ULID as text", Store: Text, Length: 26, source: ulids},
	}
}

// Find returns the kinds with the given names, in the order of Kinds. Unknown names are ignored.
func Find(names []string) []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return !slices.Contains(names, k.Name) })
}

// Names returns the names of kinds.
func Names(kinds []Kind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}
