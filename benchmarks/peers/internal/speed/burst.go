package speed

import (
	"context"
	"time"

	"github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"

	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/bench"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/turns"
	"github.com/sqlflake/sqlflake/snowflake"
)

var burstKinds = []string{Ours, "fill", "bwmarrin", "godruoyi", "yitter", "sonyflake"}

// burstCase is the time of 10,000 IDs after a pause, in µs, of generators as they are by default.
func burstCase(e Effort) bench.Case {
	const burst, pause = 10_000, 15 * time.Millisecond
	bursts := max(e.Turns/4, 1)
	c := bench.Case{Scenario: "burst", Title: "10,000 IDs after a pause", Kinds: burstKinds}
	c.Takes = time.Duration(bursts*len(burstKinds))*(pause+2*time.Millisecond) + 400*time.Millisecond
	c.Run = func(ctx context.Context, _ int, done func(time.Duration)) (map[string]bench.Result, error) {
		calls, err := defaults()
		if err != nil {
			return nil, err
		}
		generator, err := snowflake.New(2)
		if err != nil {
			return nil, err
		}
		flake, err := sonyflake.New(sonyflake.Settings{MachineID: func() (int, error) { return 1, nil }})
		if err != nil {
			return nil, err
		}
		yitter := idgen.NewDefaultIdGenerator(idgen.NewIdGeneratorOptions(1)).SnowWorker
		ids := make([]snowflake.ID, burst)
		calls["fill"] = func(int) { _ = generator.Fill(ctx, ids) }
		calls["yitter"] = func(n int) {
			for range n {
				_ = yitter.NextId()
			}
		}
		calls["sonyflake"] = func(n int) {
			for range n {
				_, _ = flake.NextID()
			}
		}
		found := map[string]bench.Result{}
		for _, kind := range burstKinds {
			times := turns.Result{}
			for i := range bursts {
				if kind == "sonyflake" && i > 0 { // 0.4 s each, and always the same
					break
				}
				time.Sleep(pause)
				start := time.Now()
				calls[kind](burst)
				took := time.Since(start)
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				times.Kept = append(times.Kept, float64(took)/1e3)
				done(pause)
			}
			found[kind] = bench.Result{Values: map[string]float64{"us": times.Median()}}
		}
		return found, nil
	}
	return c
}
