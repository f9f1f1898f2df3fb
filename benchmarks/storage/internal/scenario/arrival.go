package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/advise/arrival"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

var arrivals = Scenario{
	Name:     "arrival",
	Title:    "Keys that arrive out of order",
	Question: "How much larger does the index become if keys do not arrive in order?",
	Kinds:    []string{"auto", "snowflake", "uuidv7"},
	Cases:    arrivalCases,
	Run:      runArrival,
	Once:     true,
}

const (
	// arrivalRows is the most rows that are inserted. More do not change the density, which is the same throughout the
	// tree.
	arrivalRows = 200_000
	defaultFill = 90
)

// fills are the PostgreSQL fill factors to compare with the default in the cases of withFills.
var (
	fills     = []int{70, 80, 100}
	withFills = []string{"workers=1", "workers=16 skew=20ms"}
)

// disorders are reasons why keys arrive out of order, as settings of arrival.Order. They cover each kind of disorder in
// few runs: one process; workers with equal clocks; a skew and a lag of 200 rows; a skew of 2,000; batches that overlap;
// batches that overlap and are late.
var disorders = []string{
	"workers=1", "workers=16", "workers=16 skew=20ms", "workers=16 skew=200ms", "workers=16 lag=20ms",
	"workers=4 drawn=1000", "workers=4 lag=50ms drawn=100",
}

func arrivalCases(o Options, e engine.Engine) []measure.Params {
	var cases []measure.Params
	for _, text := range disorders {
		p := measure.P("rows", min(o.Rows, arrivalRows))
		for setting := range strings.FieldsSeq(text) {
			name, value, _ := strings.Cut(setting, "=")
			p = append(p, measure.Param{Name: name, Value: value})
			if name == "workers" {
				p = append(p, measure.P("rate", 10_000)...)
			}
		}
		if e.Dialect() != "postgres" {
			cases = append(cases, p)
			continue
		}
		cases = append(cases, append(slices.Clip(p), measure.P("fill", defaultFill)...))
		for _, fill := range fills {
			if slices.Contains(withFills, text) {
				cases = append(cases, append(slices.Clip(p), measure.P("fill", fill)...))
			}
		}
	}
	return cases
}

// order returns the simulation for the parameters.
func (b *Bench) order() (arrival.Order, error) {
	o := arrival.Order{
		Rows: b.Number("rows"), Workers: b.Number("workers"), Rate: float64(b.Number("rate")),
		Batch: b.Number("drawn"), Cores: b.Number("cores"), Seed: b.Options.Seed,
	}
	for name, dst := range map[string]*time.Duration{"skew": &o.Skew, "lag": &o.Lag} {
		if text := b.Params.Get(name); text != "" {
			d, err := time.ParseDuration(text)
			if err != nil {
				return o, fmt.Errorf("%s: %w", name, err)
			}
			*dst = d
		}
	}
	return o, o.Check()
}

// arriving returns the keys of the kind in their order of arrival.
func (b *Bench) arriving() (key.Source, error) {
	o, err := b.order()
	if err != nil {
		return nil, err
	}
	name := b.Kind.Name
	switch name {
	case "auto", "autoincrement", "explicit", "uuidv4": // the order of rows makes no difference
		return b.Kind.New(key.Config{Seed: b.Options.Seed, Clients: 1})
	case "snowflake", "snowflake-bigint":
		name = arrival.Layouts()[0].Name
	case "snowflake-first":
		name = "worker/time/sequence"
	case "uuidv7":
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
	in := Insert{
		Table: table, Rows: b.Number("rows"), Batch: 1000, Source: source,
		Fill: func(row []any, _ int) { row[0] = int64(100) },
		// COPY keeps the order of its rows and is fastest. The order of LOAD DATA is not documented.
		Bulk: b.Dialect() == "postgres",
	}
	if err := b.Do(ctx, in); err != nil {
		return nil, err
	}
	values := map[string]float64{}
	return values, b.Sizes(ctx, values, table.Name, in.Rows)
}
