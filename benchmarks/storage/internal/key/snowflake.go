package key

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/arrival"
	"github.com/sqlflake/sqlflake/snowflake"
)

// counting sends the numbers that auto-increment would assign: each statement of any client takes the next ones. It
// separates the cost of sending a key from that of its value.
func counting(c Config) (Source, error) {
	if c.Last == nil {
		c.Last = new(atomic.Int64)
	}
	return counter{c.Last}, nil
}

type counter struct{ last *atomic.Int64 }

func (c counter) Draw(dst []any) error {
	first := c.last.Add(int64(len(dst))) - int64(len(dst)) + 1
	for i := range dst {
		dst[i] = first + int64(i)
	}
	return nil
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
	layout, err := snowflake.NewLayout(snowflake.Default().Epoch(), time.Millisecond,
		snowflake.Field{Name: "worker", Bits: 10}, snowflake.Field{Name: "time", Bits: 41},
		snowflake.Field{Name: "sequence", Bits: 12})
	if err != nil {
		return nil, err
	}
	return fromWorkers(layout, 1, 2, 3, 4)
}

// skewed are the keys of 16 processes whose clocks differ by up to 20 ms, in the order in which they arrive, at 10,000
// rows a second. The times are simulated.
func skewed(c Config) (Source, error) {
	s, err := arrival.New(arrival.Order{
		Layout: snowflake.Default(), Workers: 16, Rate: 10_000, Skew: 20 * time.Millisecond, Seed: c.Seed + uint64(c.Client),
	})
	return arriving{s}, err
}

type arriving struct{ *arrival.Stream }

func (a arriving) Draw(dst []any) error {
	for i := range dst {
		id, err := a.Next()
		if err != nil {
			return err
		}
		dst[i] = int64(id)
	}
	return nil
}

// generators draws a key from each generator in turn. All sources for one worker share the state of the process, so
// clients do not get duplicates.
type generators struct {
	list []*snowflake.Generator
	next int
	ids  []snowflake.ID
}

func fromWorkers(layout snowflake.Layout, workers ...int64) (*generators, error) {
	g := &generators{}
	for _, worker := range workers {
		gen, err := snowflake.New(worker, snowflake.WithLayout(layout))
		if err != nil {
			return nil, err
		}
		g.list = append(g.list, gen)
	}
	return g, nil
}

func (g *generators) Draw(dst []any) error {
	if len(dst) == 0 {
		return nil
	}
	if cap(g.ids) < len(dst) {
		g.ids = make([]snowflake.ID, len(dst))
	}
	ids := g.ids[:len(dst)]
	if len(g.list) == 1 {
		if err := g.list[0].Fill(context.Background(), ids); err != nil {
			return err
		}
	} else {
		for i := range ids {
			id, err := g.list[g.next].Next()
			if err != nil {
				return err
			}
			ids[i], g.next = id, (g.next+1)%len(g.list)
		}
	}
	for i, id := range ids {
		dst[i] = int64(id)
	}
	return nil
}
