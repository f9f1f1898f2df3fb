// Package scenario has the questions that the tool answers. Each fills tables in some way and measures the result.
package scenario

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// Scenario is a question and the way to answer it.
type Scenario struct {
	Name     string // for -scenario
	Title    string
	Question string // the question that the figures answer, one sentence

	// Kinds are the kinds of keys to compare if the user names none. Each is measured in every round, paired with
	// the baseline.
	Kinds []string
	// Sizes are further kinds, measured once for their sizes. Their speeds have too few rounds for a verdict.
	Sizes []string
	// Cases returns the parameters for which each kind is measured.
	Cases func(o Options, e engine.Engine) []measure.Params
	// Once reports whether a case has one round: its figures are exact, or it takes too long to repeat. nil: never.
	Once func(p measure.Params) bool
	// Run measures one kind once. It creates its tables through the bench, which drops them. The text of an error that
	// is errors.ErrUnsupported becomes a note.
	Run func(ctx context.Context, b *Bench) (map[string]float64, error)
}

// Options are the user's settings.
type Options struct {
	Rows    int
	Batch   []int // rows a statement
	Clients int
	Rounds  int
	Seed    uint64
	Kinds   []key.Kind // nil: as the scenario says
}

// All returns the scenarios in the order of the report.
func All() []Scenario {
	return []Scenario{load, clients, paced, children, graph, grow}
}

// Names returns the names of all scenarios.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// Find returns the scenarios with the given names, in the order of All. Unknown names are ignored.
func Find(names []string) []Scenario {
	return slices.DeleteFunc(All(), func(s Scenario) bool { return !slices.Contains(names, s.Name) })
}

// four are the kinds that most scenarios compare.
var four = []string{"auto", "snowflake", "uuidv7", "uuidv4"}

// KindsOn returns the kinds to compare on an engine, and those to measure once; none of these if the user names kinds.
func (s Scenario) KindsOn(o Options, engineName string) (kinds, sizes []key.Kind) {
	if kinds = slices.Clone(o.Kinds); kinds == nil {
		kinds, sizes = key.Find(s.Kinds), key.Find(s.Sizes)
	}
	other := func(k key.Kind) bool { return !k.OnEngine(engineName) }
	return slices.DeleteFunc(kinds, other), slices.DeleteFunc(sizes, other)
}

// share returns a part of the rows, for cases that are slow: at least the given number, or all.
func share(rows, of, least int) int { return min(rows, max(rows/of, least)) }

// Bench is one run of a scenario.
type Bench struct {
	engine.Engine
	Options Options
	Kind    key.Kind
	Params  measure.Params
	Round   int

	tables []string
}

// Number returns a numeric parameter; 0 if it is missing.
func (b *Bench) Number(name string) int { return number(b.Params, name) }

func number(p measure.Params, name string) int {
	n, _ := strconv.Atoi(p.Get(name))
	return n
}

// Table returns a table for this kind of key with a unique name: drivers cache column types by statement text, so a
// name must not be used again with other types.
func (b *Bench) Table(name string, columns []engine.Column, indexes ...string) engine.Table {
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

// Clean drops the tables, even after ctx has ended. It tries twice, because a cancelled transaction that still runs on
// the server can be in a deadlock with the first.
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

// inserting is a scenario's Run that creates a table of accounts and inserts the rows by the case's parameters.
func inserting(name string) func(context.Context, *Bench) (map[string]float64, error) {
	return func(ctx context.Context, b *Bench) (map[string]float64, error) {
		table := b.Table(name, account)
		if err := b.Create(ctx, table); err != nil {
			return nil, err
		}
		in := Insert{
			Table: table, Rows: b.Number("rows"), Batch: b.Number("batch"), Clients: b.Number("clients"),
			Fill: fillAccount,
		}
		return b.Measure(ctx, table.Name, in.Rows, func() error { return b.Do(ctx, in) })
	}
}

// random returns numbers that are the same for all kinds of keys in a round.
func (b *Bench) random() *rand.Rand {
	return rand.New(rand.NewPCG(b.Options.Seed, uint64(b.Round))) //nolint:gosec // a benchmark's choice of rows
}

// Measure runs f, which adds n rows to a table, after the tables have settled. It returns the rate and
// the table's sizes. The others are tables that f reads.
func (b *Bench) Measure(ctx context.Context, table string, n int, f func() error, others ...string) (
	map[string]float64, error,
) {
	if err := b.Settle(ctx, append(others, table)...); err != nil {
		return nil, fmt.Errorf("before the run: %w", err)
	}

	runtime.GC()
	values := map[string]float64{}
	if err := rate(values, "rate", n, f); err != nil {
		return nil, err
	}

	sizes, err := b.Sizes(ctx, table)
	if err != nil {
		return nil, fmt.Errorf("sizes of %s: %w", table, err)
	}

	for name, size := range map[string]int64{
		"bytes_table": sizes.Table, "bytes_primary": sizes.Primary, "bytes_secondary": sizes.Secondary,
	} {
		if size > 0 {
			values[name] = float64(size) / float64(max(n, 1))
		}
	}

	return values, nil
}

// rate runs f, which adds n rows, and sets values[name] to the rows a second.
func rate(values map[string]float64, name string, n int, f func() error) error {
	start := time.Now()
	if err := f(); err != nil {
		return err
	}
	values[name] = float64(max(n, 1)) / time.Since(start).Seconds()
	return nil
}
