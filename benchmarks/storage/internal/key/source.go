package key

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/arrival"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Source sets dst to new keys, as values for a driver: int64, [16]byte or string. It is not safe for concurrent use: each
// client has its own.
type Source func(dst []any) error

// Config describes the client of a Source.
type Config struct {
	Seed    uint64 // seed of the random numbers
	Client  int    // 0, 1, ...: each client has its own keys
	Clients int    // the number of clients, at least 1
	// Last is the last number that explicit has used, shared by the clients of a table; nil: this is the only client.
	Last *atomic.Int64
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

// counting sends the numbers that auto-increment would assign: each statement of any client takes the next ones. It
// separates the cost of sending a key from that of its value.
func counting(c Config) (Source, error) {
	last := c.Last
	if last == nil {
		last = new(atomic.Int64)
	}
	return func(dst []any) error {
		first := last.Add(int64(len(dst))) - int64(len(dst)) + 1
		for i := range dst {
			dst[i] = first + int64(i)
		}
		return nil
	}, nil
}

// snowflakes are the keys of one process: all clients use the generator of worker 1.
func snowflakes(Config) (Source, error) { return fromWorkers(snowflake.Default(), 1) }

// workersInTurn are the keys of four processes with equal clocks whose rows arrive in turn. With several clients each
// has its own worker.
func workersInTurn(c Config) (Source, error) {
	if c.Clients > 1 {
		return fromWorkers(snowflake.Default(), int64(c.Client)+1)
	}
	return fromWorkers(snowflake.Default(), 1, 2, 3, 4)
}

// safeSnowflakes are those that JavaScript numbers represent exactly. Their sequence is short, so they wait for ticks.
func safeSnowflakes(Config) (Source, error) {
	return fromWorkers(snowflake.MustPreset("javascriptsafe"), 1)
}

// workerFirst has the worker above the time: each worker appends in its own part of the index.
func workerFirst(Config) (Source, error) {
	return fromWorkers(snowflake.MustLayout(snowflake.Default().Epoch(), time.Millisecond,
		snowflake.Field{Name: "worker", Bits: 10}, snowflake.Field{Name: "time", Bits: 41},
		snowflake.Field{Name: "sequence", Bits: 12}), 1, 2, 3, 4)
}

// fromWorkers draws a key from each worker in turn. All sources for one worker share the state of the process, so clients
// do not get duplicates.
func fromWorkers(layout snowflake.Layout, workers ...int64) (Source, error) {
	var list []*snowflake.Generator
	for _, worker := range workers {
		generator, err := snowflake.New(worker, snowflake.WithLayout(layout))
		if err != nil {
			return nil, err
		}
		list = append(list, generator)
	}
	if len(list) > 1 {
		next := -1
		return each(func() (any, error) {
			next = (next + 1) % len(list)
			id, err := list[next].Next()
			return int64(id), err
		}), nil
	}
	var ids []snowflake.ID
	return func(dst []any) error {
		ids = slices.Grow(ids[:0], len(dst))[:len(dst)]
		if err := list[0].Fill(context.Background(), ids); err != nil {
			return err
		}
		for i, id := range ids {
			dst[i] = int64(id)
		}
		return nil
	}, nil
}

// skewed are the keys of 16 processes whose clocks differ by up to 20 ms, in the order in which they arrive, at 10,000
// rows a second. The times are simulated.
func skewed(c Config) (Source, error) {
	s := arrival.New(arrival.Order{
		Layout: snowflake.Default(), Workers: 16, Rate: 10_000, Skew: 20 * time.Millisecond, Seed: c.Seed + uint64(c.Client),
	})
	return each(func() (any, error) {
		id, err := s.Next()
		return int64(id), err
	}), nil
}

// random is a client's source of randomness: a cipher's stream that is as fast as a usual source and repeats for the
// same seed.
func random(c Config) io.Reader {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], c.Seed)
	binary.LittleEndian.PutUint64(seed[8:], uint64(c.Client))
	return rand.NewChaCha8(seed)
}

// uuids of version 7 are in order within a process, by the twelve bits below the millisecond (RFC 9562, section 6.2, method
// 3).
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

// ulids are monotonic within a client and have 26 characters.
func ulids(c Config) (Source, error) {
	entropy := ulid.Monotonic(random(c), 0)
	return each(func() (any, error) {
		id, err := ulid.New(ulid.Timestamp(time.Now()), entropy)
		return id.String(), err
	}), nil
}
