package scenario

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

var grow = Scenario{
	Name:     "grow",
	Title:    "Growing past the cache",
	Question: "What happens to inserts when the table outgrows the database's cache?",
	Kinds:    []string{"auto", "snowflake", "uuidv7", "uuidv4", "uuidv4-text"},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		if e.Dialect() == "sqlite" {
			return []measure.Params{measure.P("rows", o.Rows, "cache", "2 MB")}
		}
		return []measure.Params{measure.P("rows", o.Rows)} // the cache is a setting of the server
	},
	Run: runGrow,
}

const (
	growSteps   = 10
	growLimit   = time.Minute // per kind; a hundredfold slowdown needs no more rows
	sqliteCache = -2000       // KiB, SQLite's default; the system caches more of the file
)

// grownMetrics are measured at each step. Their names end in "@" and the number of rows after the step.
var grownMetrics = []string{"rate", "log", "written", "reads"}

// runGrow inserts in steps. The tool writes and settles nothing between them, so pages that the database writes later
// count in the step in which they are written.
func runGrow(ctx context.Context, b *Bench) (map[string]float64, error) {
	table := b.Table("grow", account)
	if err := b.Create(ctx, table); err != nil {
		return nil, err
	}
	source, err := b.Kind.New(key.Config{Seed: b.Options.Seed + uint64(b.Round), Clients: 1})
	if err != nil {
		return nil, err
	}
	if err := b.Settle(ctx, table.Name); err != nil {
		return nil, err
	}
	runtime.GC()
	values := map[string]float64{}
	rows, done, end := b.Number("rows"), 0, time.Now().Add(growLimit)
	for step := 1; step <= growSteps; step++ {
		n := rows*step/growSteps - done
		if n == 0 {
			continue // fewer rows than steps
		}
		cost, err := b.growBy(ctx, table, source, done, n, end)
		if errors.Is(err, errSlow) && done > 0 {
			return values, fmt.Errorf("%w: after %d of %d rows", err, done, rows)
		}
		if err != nil {
			return nil, err
		}
		done += n
		all := map[string]float64{}
		cost.Into(all, n)
		for name, value := range all {
			if slices.Contains(grownMetrics, name) {
				values[fmt.Sprintf("%s@%d", name, done)] = value
			}
		}
	}
	return values, nil
}

// growBy inserts n rows, beginning with row first. Its connection returns to the pool before the counters are read,
// because a server may count idle connections only.
func (b *Bench) growBy(ctx context.Context, table engine.Table, source key.Source, first, n int, end time.Time) (
	Cost, error,
) {
	before, err := b.Usage(ctx)
	if err != nil {
		return Cost{}, err
	}
	took, err := b.timedRows(ctx, table, source, first, n, end)
	if err != nil {
		return Cost{}, err
	}
	after, err := b.Usage(ctx)
	return Cost{Elapsed: took, Usage: after.Since(before)}, err
}

// errSlow turns a run into a record with a note and the values of its finished steps.
var errSlow = engine.Unsupported("the time limit for one kind of key, %v, is exceeded", growLimit)

func (b *Bench) timedRows(ctx context.Context, table engine.Table, source key.Source, first, n int, end time.Time) (
	took time.Duration, err error,
) {
	conn, err := b.DB().Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	if b.Dialect() == "sqlite" {
		var usual int
		if err := conn.QueryRowContext(ctx, "PRAGMA cache_size").Scan(&usual); err != nil {
			return 0, err
		}
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA cache_size = %d", sqliteCache)); err != nil {
			return 0, err
		}
		defer func() {
			_, failed := conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("PRAGMA cache_size = %d", usual))
			err = errors.Join(err, failed)
		}()
	}
	w := &writer{b: b, in: Insert{Table: table, Fill: fillAccount}, conn: conn, source: source}
	defer w.close()
	start := time.Now()
	for last := first + n; first < last; {
		if time.Now().After(end) {
			return 0, errSlow
		}
		size := min(1000, last-first)
		if err := w.write(ctx, size, first, 1); err != nil {
			return 0, err
		}
		b.Progress(size)
		first += size
	}
	return time.Since(start), nil
}
