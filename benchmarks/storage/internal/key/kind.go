// Package key has the kinds of primary keys to compare: how each is made and stored.
package key

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Store is how a key is stored. The engine chooses the column type.
type Store int

// The stores.
const (
	Integer Store = iota // 8 bytes
	UUID                 // 16 bytes, or the database's own type
	Text                 // as a text of 36 bytes
)

// Kind is a way to make keys and to store them.
type Kind struct {
	Name  string // in -keys, in files
	Title string // in tables and charts
	Class string // of the style, in charts
	Store Store

	Counted bool // the database makes the key, and none is sent
	// Default is the PostgreSQL function that makes a Counted key; empty: the database counts.
	Default string
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
		{Name: "auto", Title: "auto-increment", Class: "auto", Counted: true},
		snowflakes("snowflake", "snowflake", snowflake.Default()),
		snowflakes("snowflake-clustered", "clustered snowflake", snowflake.Clustered()),
		snowflakes("snowflake-seconds", "snowflake, ticks of 1 s", snowflake.MustPreset("seconds")),
		{Name: "snowflake-skewed", Title: "snowflake, 16 workers with different clocks", source: skewed},
		{
			Name: "snowflake-bigint", Title: "snowflake in a bigint column", Beside: true, Only: "sqlite",
			source: workers(snowflake.Default()),
		},

		{
			Name: "uuidv7", Title: "UUIDv7", Class: "v7", Store: UUID,
			source: uuids(uuid.NewV7FromReader, binaryUUID), paced: pacedUUIDs,
		},
		{
			Name: "uuidv7-server", Title: "UUIDv7, made by the server", Store: UUID, Counted: true, Default: "uuidv7()",
			Only: "postgres18",
		},
		{
			Name: "uuidv4", Title: "UUIDv4", Class: "v4", Store: UUID,
			source: uuids(uuid.NewRandomFromReader, binaryUUID),
		},
		{
			Name: "uuidv4-text", Title: "UUIDv4 as text", Class: "text", Store: Text,
			source: uuids(uuid.NewRandomFromReader, textUUID),
		},
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

// Source sets dst to new keys, as values for a driver: int64, [16]byte or string. It is not safe for concurrent use:
// each client has its own.
type Source func(dst []any) error

// Config describes the client of a Source.
type Config struct {
	Seed    uint64 // seed of the random numbers
	Client  int    // 0, 1, ...: each client has its own keys
	Clients int    // the number of clients, at least 1
	// Pace is the rows a second of each client. Above 0 the keys of all clients come from one source, in the simulated
	// order of their arrival. A client draws Batch keys together; 0 means 1. Single keys arrive 1 ms later, on average.
	Pace, Batch int
}

// each returns a source that calls one for each key.
func each(one func() (any, error)) Source {
	return func(dst []any) (err error) {
		for i := range dst {
			if dst[i], err = one(); err != nil {
				return err
			}
		}
		return nil
	}
}

// snowflakes are the keys of processes with a worker each.
func snowflakes(name, title string, layout snowflake.Layout) Kind {
	inTime := func(c Config) (Source, error) { return ofStream(paced(c, layout)), nil }
	return Kind{Name: name, Title: title, Class: "snow", source: workers(layout), paced: inTime}
}

// workers draws keys of the client's worker. All sources for one worker share the state of the process, so the keys of
// two tables differ.
func workers(layout snowflake.Layout) func(Config) (Source, error) {
	return func(c Config) (Source, error) {
		generator, err := snowflake.New(int64(c.Client)+1, snowflake.WithLayout(layout))
		if err != nil {
			return nil, err
		}

		var ids []snowflake.ID
		return func(dst []any) error {
			ids = slices.Grow(ids[:0], len(dst))[:len(dst)]
			if err := generator.Fill(context.Background(), ids); err != nil {
				return err
			}
			for i, id := range ids {
				dst[i] = int64(id)
			}
			return nil
		}, nil
	}
}

// paced simulates the order in which the keys of all clients arrive.
func paced(c Config, layout snowflake.Layout) *stream {
	o := order{Layout: layout, Workers: c.Clients, Rate: float64(c.Pace * c.Clients), Batch: c.Batch, Seed: c.Seed}
	if c.Batch < 2 { // batches of one client would overtake each other
		o.Lag = time.Millisecond
	}
	return newStream(o)
}

// pacedUUIDs are UUIDs of version 7 that are drawn at the same times as the snowflakes of paced.
func pacedUUIDs(c Config) (Source, error) {
	micros := snowflake.MustLayout(snowflake.Default().Epoch(), time.Microsecond,
		snowflake.Field{Name: "time", Bits: 48}, snowflake.Field{Name: "worker", Bits: 10},
		snowflake.Field{Name: "sequence", Bits: 5})
	s, from := paced(c, micros), random(c)

	return each(func() (any, error) {
		id, err := s.next()
		if err != nil {
			return nil, err
		}

		// RFC 9562, section 6.2, method 3: the twelve bits below the millisecond.
		key, err := uuid.NewV7FromReader(from)
		at := micros.Time(id).UnixNano()
		binary.BigEndian.PutUint64(key[:], uint64(at/1e6)<<16|7<<12|uint64(at%1e6)>>8)
		return [16]byte(key), err
	}), nil
}

// skewed are the keys of 16 processes whose clocks differ by up to 20 ms, in the order in which they arrive, at 10,000
// rows a second. The times are simulated.
func skewed(c Config) (Source, error) {
	return ofStream(newStream(order{
		Layout: snowflake.Default(), Workers: 16, Rate: 10_000, Skew: 20 * time.Millisecond,
		Seed: c.Seed + uint64(c.Client),
	})), nil
}

func ofStream(s *stream) Source {
	return each(func() (any, error) {
		id, err := s.next()
		return int64(id), err
	})
}

// random is a client's source of randomness. The same seed gives the same bytes, fast enough to hide in the time of an
// insert.
func random(c Config) io.Reader {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], c.Seed)
	binary.LittleEndian.PutUint64(seed[8:], uint64(c.Client))
	return rand.NewChaCha8(seed)
}

// uuids of version 7 are in order within a process, by the twelve bits below the millisecond (RFC 9562, section 6.2,
// method 3).
func uuids(create func(io.Reader) (uuid.UUID, error), value func(uuid.UUID) any) func(Config) (Source, error) {
	return func(c Config) (Source, error) {
		from := random(c)
		return each(func() (any, error) {
			id, err := create(from)
			return value(id), err
		}), nil
	}
}

func binaryUUID(id uuid.UUID) any { return [16]byte(id) }
func textUUID(id uuid.UUID) any   { return id.String() }
