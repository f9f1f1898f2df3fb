package scenario

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/machine"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// Bench is one run of a scenario.
type Bench struct {
	engine.Engine
	Options Options
	Kind    key.Kind
	Params  measure.Params
	Round   int
	// Progress is called with the number of finished rows; never nil.
	Progress func(rows int)

	tables    []string
	growLimit time.Duration // of grow; 0: by the number of rows
}

// Number returns a numeric parameter; 0 if it is missing.
func (b *Bench) Number(name string) int { return number(b.Params, name) }

func number(p measure.Params, name string) int {
	n, _ := strconv.Atoi(p.Get(name))
	return n
}

// Table returns a table for this kind of key with a unique name: drivers cache column types by statement text, so a
// name must not be used again with other types.
func (b *Bench) Table(name string, columns []engine.Column, indexes ...[]string) engine.Table {
	return engine.Table{
		Name: name + "_" + strings.ReplaceAll(b.Kind.Name, "-", "_"),
		Kind: b.Kind, Columns: columns, Indexes: indexes,
	}
}

// Create creates tables that Clean drops.
func (b *Bench) Create(ctx context.Context, tables ...engine.Table) error {
	for _, t := range tables {
		b.tables = append([]string{t.Name}, b.tables...) // children first
		err := uncancelled(ctx, func(ctx context.Context) error { return b.Engine.Create(ctx, t) })
		if err != nil {
			return fmt.Errorf("create table %s: %w", t.Name, err)
		}
	}
	return nil
}

// uncancelled calls f with a context that does not end with ctx, unless ctx has ended. A server may still finish a
// CREATE TABLE that the client has cancelled, after Clean has looked for the table.
func uncancelled(ctx context.Context, f func(ctx context.Context) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return f(ctx)
}

// Clean drops the tables, also if ctx has ended. It tries twice, because a cancelled transaction that still runs on the
// server can be in a deadlock with the first.
func (b *Bench) Clean(ctx context.Context) error {
	if len(b.tables) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err := b.Drop(ctx, b.tables...)
	if err != nil {
		err = b.Drop(ctx, b.tables...)
	}
	b.tables = nil
	return err
}

// run executes statements.
func (b *Bench) run(ctx context.Context, statements ...string) error {
	for _, text := range statements {
		if _, err := b.DB().ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// get runs a query for one row and stores its columns.
func (b *Bench) get(ctx context.Context, text string, args []any, columns ...any) error {
	if err := b.DB().QueryRowContext(ctx, text, args...).Scan(columns...); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// timed returns the duration of f in ms.
func (b *Bench) timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return milliseconds(time.Since(start)), err
}

// fill creates a table, inserts rows, and returns what to insert next. The keys are appended to keys, unless it is nil.
func (b *Bench) fill(ctx context.Context, table engine.Table, rows int, keys *[]any) (Insert, error) {
	if err := b.Create(ctx, table); err != nil {
		return Insert{}, err
	}
	source, err := b.source(0, 1, nil)
	if err != nil {
		return Insert{}, err
	}
	next := Insert{Table: table, Rows: rows, Batch: 1000, Fill: fillAccount, Source: source}
	in := next
	if keys != nil {
		in.Keep = func(id any) { *keys = append(*keys, id) }
	}
	next.First = rows
	return next, b.Do(ctx, in)
}

// inserting is a scenario's Run that creates a table of accounts and inserts the rows by the case's parameters.
func inserting(name string) func(context.Context, *Bench) (map[string]float64, error) {
	return func(ctx context.Context, b *Bench) (map[string]float64, error) {
		table := b.Table(name, account)
		if err := b.Create(ctx, table); err != nil {
			return nil, err
		}
		return b.InsertAndMeasure(ctx, Insert{
			Table: table, Rows: b.Number("rows"), Batch: b.Number("batch"), Clients: b.Number("clients"), Fill: fillAccount,
		})
	}
}

// percentiles adds the median and the 99th percentile of durations, in microseconds.
func percentiles(values map[string]float64, took []time.Duration, median, p99 string) {
	slices.Sort(took)
	values[median], values[p99] = microseconds(took[len(took)/2]), microseconds(took[len(took)*99/100])
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// Cost is the resources that a piece of work used.
type Cost struct {
	Elapsed time.Duration
	Usage   engine.Usage
	Client  time.Duration // CPU time of this process
}

// Measure runs f after the tables have settled.
func (b *Bench) Measure(ctx context.Context, tables []string, f func() error) (Cost, error) {
	if err := b.Settle(ctx, tables...); err != nil {
		return Cost{}, fmt.Errorf("before the run: %w", err)
	}
	runtime.GC()
	before, err := b.Usage(ctx)
	if err != nil {
		return Cost{}, err
	}
	client, start := machine.CPU(), time.Now()
	if err := f(); err != nil {
		return Cost{}, err
	}
	cost := Cost{Elapsed: time.Since(start), Client: machine.CPU() - client}
	after, err := b.Usage(ctx)
	if err != nil {
		return Cost{}, err
	}
	cost.Usage = after.Since(before)
	if b.Dialect() == "sqlite" || cost.Usage.Written < 0 {
		return cost, nil
	}
	// Servers write pages long after they change.
	if err := b.Settle(ctx, tables...); err != nil {
		return Cost{}, fmt.Errorf("after the run: %w", err)
	}
	if after, err = b.Usage(ctx); err != nil {
		return Cost{}, err
	}
	if cost.Usage.Written = after.Since(before).Written; cost.Usage.Written == 0 {
		cost.Usage.Written = -1 // not yet
	}
	return cost, nil
}

// MeasureRows runs f, which adds n rows to a table, and returns its cost and the table's sizes. The others are tables
// that f reads.
func (b *Bench) MeasureRows(ctx context.Context, table string, n int, f func() error, others ...string) (
	map[string]float64, error,
) {
	values, err := b.cost(ctx, n, f, append(others, table)...)
	if err != nil {
		return nil, err
	}
	return values, b.Sizes(ctx, values, table, n)
}

// cost returns the cost of f for each of n rows or operations. The tables are those that it uses.
func (b *Bench) cost(ctx context.Context, n int, f func() error, tables ...string) (map[string]float64, error) {
	cost, err := b.Measure(ctx, tables, f)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	cost.Into(values, n)
	return values, nil
}

// InsertAndMeasure inserts rows and returns the cost and the table's sizes.
func (b *Bench) InsertAndMeasure(ctx context.Context, in Insert, others ...string) (map[string]float64, error) {
	return b.MeasureRows(ctx, in.Table.Name, in.Rows, func() error { return b.Do(ctx, in) }, others...)
}

// Into adds the cost of n rows to values.
func (c Cost) Into(values map[string]float64, n int) {
	rows := float64(max(n, 1))
	values["rate"] = rows / c.Elapsed.Seconds()
	put := func(name string, value int64, scale float64) {
		if value >= 0 {
			values[name] = float64(value) * scale / rows
		}
	}
	put("log", c.Usage.Log, 1)
	put("page_images", c.Usage.PageImages, 1000)
	put("written", c.Usage.Written, 1)
	put("reads", c.Usage.Reads, 1000)
	put("hits", c.Usage.Hits, 1)
	if c.Usage.CPU >= 0 {
		put("cpu", int64(c.Usage.CPU+c.Client), 1e-3)
		if c.Usage.CPU > 0 {
			put("cpu_server", int64(c.Usage.CPU), 1e-3)
		}
	}
}

// Sizes adds the bytes of a table with n rows to values.
func (b *Bench) Sizes(ctx context.Context, values map[string]float64, table string, n int) error {
	trees, err := b.Trees(ctx, table)
	if err != nil {
		return fmt.Errorf("sizes of %s: %w", table, err)
	}
	rows := float64(max(n, 1))
	var total, secondary int64
	for _, t := range trees {
		total += t.Bytes
		switch t.Role {
		case engine.Secondary:
			secondary += t.Bytes
		case engine.Primary, engine.Clustered:
			if t.Role == engine.Primary {
				values["bytes_primary"] = float64(t.Bytes) / rows
			}
			if t.Density >= 0 {
				values["density"] = 100 * t.Density
			}
			if t.Fragmentation >= 0 {
				values["fragmentation"] = 100 * t.Fragmentation
			}
		case engine.Rows:
		}
	}
	values["bytes_rows"] = float64(total-secondary) / rows
	values["bytes_table"] = float64(total) / rows
	if secondary > 0 {
		values["bytes_secondary"] = float64(secondary) / rows
	}
	return nil
}
