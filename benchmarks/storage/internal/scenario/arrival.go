package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/arrival"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

var arrivals = Scenario{
	Name:     "arrival",
	Title:    "The order of arrival",
	Question: "What happens to the index when keys do not arrive in order: clocks that differ, workers that take turns, batches that are drawn early and written late?",
	Kinds:    []string{"auto", "snowflake", "uuidv7"},
	Cases:    arrivalCases,
	Run:      runArrival,
	Once:     true,
}

// fullGrid is from how many rows on the scenario runs its large grid, and on servers only.
const fullGrid = 500_000

// arrivalRows is how many rows are inserted at most: more change nothing, since density is the same everywhere in the tree.
const arrivalRows = 200_000

// disorder is one way of not arriving in order.
type disorder struct {
	workers, rate int
	skew, lag     string
	batch         int    // keys that a worker draws at once
	layout        string // of snowflakes; empty: the library's default
	inGrid        bool   // with all fill factors in the large grid; elsewhere they change little
}

// disorders show what there is, in few runs: one process; workers with equal clocks; a skew and a lag of 200 rows; a skew
// of 2,000; batches that overlap; batches that overlap and come late.
var disorders = []disorder{
	{workers: 1, rate: 10_000},
	{workers: 16, rate: 10_000, inGrid: true},
	{workers: 16, rate: 10_000, skew: "20ms", inGrid: true},
	{workers: 16, rate: 10_000, skew: "200ms", inGrid: true},
	{workers: 16, rate: 10_000, lag: "20ms", inGrid: true},
	{workers: 4, rate: 10_000, batch: 1000},
	{workers: 4, rate: 10_000, batch: 100, lag: "50ms"},
}

// more are added in the large grid: the lines of the heat maps, and the two layouts at rates that tell them apart.
var more = []disorder{
	{workers: 16, rate: 10_000, skew: "2ms", inGrid: true},
	{workers: 16, rate: 10_000, skew: "6ms", inGrid: true},
	{workers: 16, rate: 10_000, skew: "40ms", inGrid: true},
	{workers: 16, rate: 10_000, skew: "60ms", inGrid: true},
	{workers: 16, rate: 10_000, skew: "2s"},
	{workers: 16, rate: 10_000, lag: "1ms", inGrid: true},
	{workers: 16, rate: 10_000, lag: "5ms", inGrid: true},
	{workers: 16, rate: 10_000, lag: "50ms", inGrid: true},
	{workers: 16, rate: 10_000, lag: "500ms"},
	{workers: 4, rate: 10_000, batch: 10},
	{workers: 4, rate: 10_000, batch: 100},
	{workers: 16, rate: 300_000},
	{workers: 16, rate: 300_000, layout: "time/sequence/worker"},
	{workers: 16, rate: 10_000, layout: "worker/time/sequence"},
}

// fills are PostgreSQL's fill factors that are compared, and the default.
var fills = []int{70, 80, 100}

const defaultFill = 90

func arrivalCases(o Options, e engine.Engine) []measure.Params {
	list := disorders
	full := o.Rows >= fullGrid && e.Name() != "sqlite"
	if full {
		list = append(slices.Clip(list), more...)
	}
	rows := min(o.Rows, arrivalRows)
	var cases []measure.Params
	for _, d := range list {
		if e.Name() != "postgres" {
			cases = append(cases, d.params(rows, 0))
			continue
		}
		cases = append(cases, d.params(rows, defaultFill))
		if full && d.inGrid || d.skew == "20ms" || d.workers == 1 {
			for _, fill := range fills {
				cases = append(cases, d.params(rows, fill))
			}
		}
	}
	return cases
}

func (d disorder) params(rows, fill int) measure.Params {
	p := measure.P("rows", rows, "workers", d.workers, "rate", d.rate)
	add := func(name string, value any, there bool) {
		if there {
			p = append(p, measure.P(name, value)...)
		}
	}
	add("skew", d.skew, d.skew != "")
	add("lag", d.lag, d.lag != "")
	add("drawn", d.batch, d.batch > 0)
	add("layout", d.layout, d.layout != "")
	add("fill", fill, fill > 0)
	return p
}

// order is the simulation that the parameters describe.
func (b *Bench) order() (arrival.Order, error) {
	o := arrival.Order{
		Rows: b.Number("rows"), Workers: b.Number("workers"), Rate: float64(b.Number("rate")),
		Batch: b.Number("drawn"), Seed: b.Options.Seed,
	}
	var failed error
	duration := func(name string) time.Duration {
		text := b.Params.Get(name)
		if text == "" {
			return 0
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
		return d
	}
	o.Skew, o.Lag = duration("skew"), duration("lag")
	return o, errors.Join(failed, o.Check())
}

// arriving is the source of the kind's keys in the order of arrival.
func (b *Bench) arriving() (key.Source, error) {
	o, err := b.order()
	if err != nil {
		return nil, err
	}
	name := arrival.Layouts()[0].Name
	switch b.Kind.Name {
	case "auto", "autoincrement", "explicit", "uuidv4": // the order in which rows come changes nothing
		return b.Kind.New(key.Config{Seed: b.Options.Seed, Clients: 1})
	case "snowflake", "snowflake-bigint":
		if asked := b.Params.Get("layout"); asked != "" {
			name = asked
		}
	case "snowflake-first":
		name = "worker/time/sequence"
	case "uuidv7":
		name = b.Kind.Name
	default:
		return nil, engine.Unsupported("the order of arrival of %s is not simulated", b.Kind.Name)
	}
	layout, err := arrival.FindLayout(name)
	if err != nil {
		return nil, err
	}
	rows, err := o.Simulate()
	if err != nil {
		return nil, err
	}
	keys, err := layout.Keys(rows)
	return &listed{keys}, err
}

// listed are keys that are made already.
type listed struct{ keys []any }

// Draw takes the next keys of the list.
func (l *listed) Draw(dst []any) error {
	if len(dst) > len(l.keys) {
		return fmt.Errorf("%d keys are left of the list, not %d", len(l.keys), len(dst))
	}
	l.keys = l.keys[copy(dst, l.keys):]
	return nil
}

// runArrival has one writer insert the rows one after the other, so that nothing but the order of the keys decides. The
// baseline has the default fill factor whatever the others have.
func runArrival(ctx context.Context, b *Bench) (map[string]float64, error) {
	source, err := b.arriving()
	if err != nil {
		return nil, err
	}
	table := b.Table("arrival", []engine.Column{{Name: "amount"}})
	if !b.Kind.Counted {
		table.Fill = b.Number("fill")
	}
	if err := b.Create(ctx, table); err != nil {
		return nil, err
	}
	conn, err := b.DB().Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	const batch = 1000
	w := &writer{b: b, conn: conn, source: source, in: Insert{
		Table: table, Fill: func(row []any, _ int) { row[0] = int64(100) },
		// COPY keeps the order of its rows and is the fastest. Not LOAD DATA, of which that is not documented.
		Bulk: b.Name() == "postgres",
	}}
	defer w.close()
	rows := b.Number("rows")
	for done := 0; done < rows; {
		size := min(batch, rows-done)
		if err := w.write(ctx, size, done, 1); err != nil {
			return nil, err
		}
		b.Progress(size)
		done += size
	}
	values := map[string]float64{}
	return values, b.Sizes(ctx, values, table.Name, rows)
}
