package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/advise/arrival"
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

// fullGrid is the number of rows from which the scenario runs its large grid, on servers only.
const fullGrid = 500_000

// arrivalRows is the most rows that are inserted. More do not change the density, which is the same throughout the
// tree.
const arrivalRows = 200_000

// disorder is one reason why keys arrive out of order.
type disorder struct {
	workers, rate int
	skew, lag     string
	batch         int    // keys that a worker draws together
	layout        string // of snowflakes; empty: the library's default
	inGrid        bool   // in the large grid with all fill factors; elsewhere they make little difference
}

// disorders cover each kind of disorder in few runs: one process; workers with equal clocks; a skew and a lag of 200
// rows; a skew of 2,000; batches that overlap; batches that overlap and are late.
var disorders = []disorder{
	{workers: 1, rate: 10_000},
	{workers: 16, rate: 10_000, inGrid: true},
	{workers: 16, rate: 10_000, skew: "20ms", inGrid: true},
	{workers: 16, rate: 10_000, skew: "200ms", inGrid: true},
	{workers: 16, rate: 10_000, lag: "20ms", inGrid: true},
	{workers: 4, rate: 10_000, batch: 1000},
	{workers: 4, rate: 10_000, batch: 100, lag: "50ms"},
}

// more cases of the large grid: the rows of the heat maps, and the two layouts at rates at which they differ.
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

// fills are the PostgreSQL fill factors to compare with the default.
var fills = []int{70, 80, 100}

const defaultFill = 90

func arrivalCases(o Options, e engine.Engine) []measure.Params {
	list := disorders
	full := o.Rows >= fullGrid && e.Dialect() != "sqlite"
	if full {
		list = append(slices.Clip(list), more...)
	}
	rows := min(o.Rows, arrivalRows)
	var cases []measure.Params
	for _, d := range list {
		if e.Dialect() != "postgres" {
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

// order returns the simulation for the parameters.
func (b *Bench) order() (arrival.Order, error) {
	o := arrival.Order{
		Rows: b.Number("rows"), Workers: b.Number("workers"), Rate: float64(b.Number("rate")),
		Batch: b.Number("drawn"), Cores: b.Number("cores"), Seed: b.Options.Seed,
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

// arriving returns the keys of the kind in their order of arrival.
func (b *Bench) arriving() (key.Source, error) {
	o, err := b.order()
	if err != nil {
		return nil, err
	}
	name := arrival.Layouts()[0].Name
	switch b.Kind.Name {
	case "auto", "autoincrement", "explicit", "uuidv4": // the order of rows makes no difference
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

// listed is a source of prepared keys.
type listed struct{ keys []any }

// Draw takes the next keys of the list.
func (l *listed) Draw(dst []any) error {
	if len(dst) > len(l.keys) {
		return fmt.Errorf("the list has %d keys left, not %d", len(l.keys), len(dst))
	}
	l.keys = l.keys[copy(dst, l.keys):]
	return nil
}

// runArrival inserts the rows with one writer, one after the other, so that only the order of the keys matters. The
// baseline always has the default fill factor.
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
		// COPY keeps the order of its rows and is fastest. The order of LOAD DATA is not documented.
		Bulk: b.Dialect() == "postgres",
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
