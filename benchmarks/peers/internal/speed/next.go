package speed

import (
	"context"
	"runtime"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	gofrs "github.com/gofrs/uuid/v5"
	"github.com/google/uuid"
	influx "github.com/influxdata/influxdb/pkg/snowflake"
	"github.com/muyo/sno"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
	"github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"
	typeid "go.jetify.com/typeid/v2"

	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/turns"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Each subject has a loop of its own, and no call through a function value, which would add up to 2 ns to each.

// clocks read the clock, as the generators do.
func clocks() []turns.Subject {
	base := time.Now()
	return []turns.Subject{
		{Name: "since", Run: func(n int) {
			var last time.Duration
			for range n {
				last = time.Since(base)
			}
			runtime.KeepAlive(last)
		}},
		{Name: "now", Run: func(n int) {
			var last time.Time
			for range n {
				last = time.Now()
			}
			runtime.KeepAlive(last)
		}},
	}
}

// batch is the size of the batches.
const batch = 1000

// subjects of this module: those that several goroutines use, and the others.
func (o ours) subjects(ctx context.Context) (shared, single []turns.Subject) {
	next := func(name string, g *snowflake.Generator) turns.Subject {
		return turns.Subject{Name: name, Run: func(n int) {
			for range n {
				_, _ = g.Next()
			}
		}}
	}
	shared = []turns.Subject{
		next(Ours, o.plain), next("random", o.random), next("leased", o.leased),
		{Name: "fill", Batch: batch, Run: func(n int) {
			ids := make([]snowflake.ID, batch)
			for range n / batch {
				_ = o.batches.Fill(ctx, ids)
			}
		}},
		{Name: "stores", Batch: batch, Run: func(n int) {
			ids := make([]snowflake.ID, batch)
			var counter snowflake.ID
			for range n / batch {
				for i := range ids {
					ids[i] = counter
					counter++
				}
			}
			runtime.KeepAlive(ids)
		}},
	}
	single = []turns.Subject{
		next("clock", o.clock), next("catching", o.catching),
		{Name: "context", Run: func(n int) {
			for range n {
				_, _ = o.plain.NextContext(ctx)
			}
		}},
	}
	return shared, single
}

// peers are the other libraries, with the widest sequence that each can have, up to that of this module. One that has 12
// bits and waits is not among them: a turn would show the IDs of its first ms and not what it sustains.
func peers(round int) ([]turns.Subject, error) {
	bwmarrin.NodeBits, bwmarrin.StepBits = 22-wideBits, wideBits
	node, err := bwmarrin.NewNode(1)
	bwmarrin.NodeBits, bwmarrin.StepBits = 10, 12
	if err != nil {
		return nil, err
	}
	flake, err := sonyflake.New(sonyflake.Settings{
		TimeUnit: time.Millisecond, BitsSequence: wideBits, BitsMachineID: 22 - wideBits,
		MachineID: func() (int, error) { return 1, nil },
	})
	if err != nil {
		return nil, err
	}
	options := idgen.NewIdGeneratorOptions(1)
	options.WorkerIdBitLength, options.SeqBitLength = 22-wideBits, wideBits
	yitter := idgen.NewDefaultIdGenerator(options).SnowWorker
	machine := influx.New(1)
	snos, err := sno.NewGenerator(&sno.GeneratorSnapshot{Partition: sno.Partition{1, byte(round)}}, nil)
	if err != nil {
		return nil, err
	}
	return []turns.Subject{
		{Name: "bwmarrin", Run: func(n int) {
			for range n {
				_ = node.Generate()
			}
		}},
		{Name: "sonyflake", Run: func(n int) {
			for range n {
				_, _ = flake.NextID()
			}
		}},
		{Name: "yitter", Run: func(n int) {
			for range n {
				_ = yitter.NextId()
			}
		}},
		{Name: "influx", Run: func(n int) {
			for range n {
				_ = machine.Next()
			}
		}},
		{Name: "sno", Run: func(n int) {
			for range n {
				_ = snos.New(0)
			}
		}},
		{Name: "xid", Run: func(n int) {
			for range n {
				_ = xid.New()
			}
		}},
		{Name: "ulid", Run: func(n int) {
			for range n {
				_ = ulid.Make()
			}
		}},
		{Name: "ksuid", Run: func(n int) {
			for range n {
				_ = ksuid.New()
			}
		}},
		google4("google4"),
		google7("google7"),
		pooled(google4("google4pool")),
		pooled(google7("google7pool")),
		{Name: "gofrs4", Run: func(n int) {
			for range n {
				_, _ = gofrs.NewV4()
			}
		}},
		{Name: "gofrs7", Run: func(n int) {
			for range n {
				_, _ = gofrs.NewV7()
			}
		}},
		{Name: "typeid", Run: func(n int) {
			for range n {
				_, _ = typeid.Generate("user")
			}
		}},
	}, nil
}

func google4(name string) turns.Subject {
	return turns.Subject{Name: name, Run: func(n int) {
		for range n {
			_ = uuid.New()
		}
	}}
}

func google7(name string) turns.Subject {
	return turns.Subject{Name: name, Run: func(n int) {
		for range n {
			_, _ = uuid.NewV7()
		}
	}}
}

// pooled has the pool of google/uuid, which is a setting of the process, for its turns only.
func pooled(s turns.Subject) turns.Subject {
	s.Before, s.After = uuid.EnableRandPool, uuid.DisableRandPool
	return s
}
