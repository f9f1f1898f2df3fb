package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

var partitions = Scenario{
	Name:  "partitions",
	Title: "Partitions by the key or by created_at",
	Question: "What do partitions by the key change in a large table, and what do partitions by created_at, whose key is " +
		"(id, created_at): inserts, lookups by id, foreign keys, and removing old rows?",
	Kinds: []string{"snowflake"},
	Sizes: []string{"uuidv7"},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		rows := max(o.Rows, leastParted)
		if e.Dialect() == "sqlite" {
			return []measure.Params{measure.P("rows", rows)}
		}
		var cases []measure.Params
		for _, n := range []int{12, 120} {
			for _, by := range []string{"key", "time"} {
				cases = append(cases, measure.P("rows", rows, "by", by, "partitions", n))
			}
		}
		return cases
	},
	OnceFor: func(p measure.Params) bool { return p.Get("by") == "" || number(p, "rows") >= longParted },
	Run:     runPartitions,
}

const (
	leastParted = 1200      // rows, so that no partition is empty
	longParted  = 1_000_000 // rows that take minutes
	partedTurns = 20        // of inserting
	partLookups = 1000      // by each kind of plan
	plannings   = 200       // how often the time to plan a lookup is read
)

// parted is a table with partitions and one table without, of the same rows. Work is done in turns on both, so that load
// of the machine affects both alike. A factor is a figure of the partitions, as a multiple of that of the one table.
type parted struct {
	b      *Bench
	n      int // partitions
	byTime bool
	tables [2]engine.Table // the one table, and the one with partitions
	ids    []any           // in key order, in which the rows arrive
	values map[string]float64
}

const (
	whole = 0 // in parted.tables
	split = 1
)

// runPartitions compares two tables, not kinds of keys.
func runPartitions(ctx context.Context, b *Bench) (map[string]float64, error) {
	switch {
	case b.Dialect() == "sqlite":
		return nil, engine.Unsupported("SQLite has no partitions")
	case b.Kind.Counted:
		return nil, engine.Unsupported("partitions exist before their rows, and the keys that the database will count then " +
			"are not known")
	case !b.inTimeOrder():
		return nil, engine.Unsupported("a range of these keys is not a range of time")
	}
	p := &parted{b: b, n: b.Number("partitions"), byTime: b.Params.Get("by") == "time", values: map[string]float64{}}
	var notes error // on what the database cannot do
	for _, step := range []func(context.Context) error{p.draw, p.create, p.insert, p.lookups, p.plans, p.remove, p.children} {
		if err := step(ctx); errors.Is(err, errors.ErrUnsupported) {
			notes = errors.Join(notes, err)
		} else if err != nil {
			return nil, err
		}
	}
	return p.values, notes
}

// draw makes all keys, because the bounds of partitions are keys. Those of an application are made from points in time.
func (p *parted) draw(context.Context) error {
	source, err := p.b.source(0, 1, nil)
	if err != nil {
		return err
	}
	p.ids = make([]any, p.b.Number("rows"))
	for some := range slices.Chunk(p.ids, 1000) {
		if err := source.Draw(some); err != nil {
			return err
		}
	}
	slices.SortFunc(p.ids, compareKeys)
	return nil
}

// before returns the number of rows before a partition.
func (p *parted) before(partition int) int { return len(p.ids) * partition / p.n }

// drawn is a source of keys that were drawn before.
type drawn struct{ ids []any }

func (d *drawn) Draw(dst []any) error {
	if n := copy(dst, d.ids); n < len(dst) {
		return fmt.Errorf("%d keys are left, want %d", n, len(dst))
	}
	d.ids = d.ids[len(dst):]
	return nil
}

// insert fills both tables, and adds the size of the primary key's index if it is not the table.
func (p *parted) insert(ctx context.Context) error {
	var in [2]Insert
	for i := range in {
		in[i] = Insert{Table: p.tables[i], Fill: fillAccount, Source: &drawn{p.ids}}
	}
	took, err := p.inTurns(ctx, len(p.ids), in)
	if err != nil {
		return err
	}
	p.values["rate"] = float64(len(p.ids)) / took[split].Seconds()
	p.values["rate_factor"] = took[whole].Seconds() / took[split].Seconds()
	if err := p.b.Settle(ctx, p.tables[whole].Name, p.tables[split].Name); err != nil || p.b.Dialect() != "postgres" {
		return err
	}
	_, index, err := p.bytes(ctx, p.tables[split].Name)
	p.values["bytes_primary"] = float64(index) / float64(len(p.ids))
	return err
}

// inTurns inserts rows into two tables and returns the time that the statements for each took.
func (p *parted) inTurns(ctx context.Context, rows int, in [2]Insert) (took [2]time.Duration, err error) {
	const batch = 1000
	size := cmp.Or(rows/partedTurns/batch*batch, batch)
	for first := 0; first < rows; first += size {
		for i := range in {
			i = (i + first/size) % 2
			one := in[i]
			one.First, one.Rows, one.Batch = first, min(size, rows-first), batch
			one.Took = func(d time.Duration) { took[i] += d }
			if err := p.b.Do(ctx, one); err != nil {
				return took, err
			}
		}
	}
	return took, nil
}

// medians calls f for both tables with random keys, and returns the medians of the durations that it returns.
func (p *parted) medians(n int, f func(table int, id any) (time.Duration, error)) (medians [2]time.Duration, err error) {
	var took [2][]time.Duration
	random, warm := p.b.random(), warming(n)
	for turn := range warm + n {
		id := p.b.Value(p.ids[random.IntN(len(p.ids))])
		for i := range took {
			i = (i + turn) % 2
			d, err := f(i, id)
			if err != nil {
				return medians, err
			}
			if turn >= warm {
				took[i] = append(took[i], d)
			}
		}
	}
	for i := range took {
		slices.Sort(took[i])
		medians[i] = took[i][n/2]
	}
	return medians, nil
}

// lookups finds single rows at random by a prepared statement. PostgreSQL chooses whether it plans each execution, and a
// setting can choose instead. MariaDB and MySQL plan each execution.
func (p *parted) lookups(ctx context.Context) error {
	modes := [][2]string{{"lookup", ""}, {"fresh", "force_custom_plan"}, {"generic", "force_generic_plan"}}
	if p.b.Dialect() != "postgres" {
		modes = modes[:1]
	}
	for _, mode := range modes {
		if err := p.lookup(ctx, mode[0], mode[1]); err != nil {
			return err
		}
	}
	return nil
}

func (p *parted) lookup(ctx context.Context, name, mode string) (err error) {
	conn, err := p.b.DB().Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if mode != "" {
		if _, err := conn.ExecContext(ctx, "SET plan_cache_mode = "+mode); err != nil {
			return err
		}
		defer func() {
			_, failed := conn.ExecContext(context.WithoutCancel(ctx), "RESET plan_cache_mode")
			err = cmp.Or(err, failed)
		}()
	}
	r := &reader{b: p.b}
	var find [2]func(id any) error
	for i := range find {
		statement, err := conn.PrepareContext(ctx, p.byID(i, p.b.Placeholder(1)))
		if err != nil {
			return err
		}
		defer func() { _ = statement.Close() }()
		find[i] = func(id any) error { return r.query(ctx, statement, 1, id) }
	}
	medians, err := p.medians(min(partLookups, len(p.ids)/20), func(i int, id any) (time.Duration, error) {
		start := time.Now()
		err := find[i](id)
		return time.Since(start), err
	})
	if err != nil {
		return err
	}
	p.values[name] = microseconds(medians[split])
	p.values[name+"_factor"] = medians[split].Seconds() / medians[whole].Seconds()
	if p.b.Dialect() == "postgres" && mode == "" {
		return errors.Join(p.replanned(ctx, conn, whole, "replanned_one"), p.replanned(ctx, conn, split, "replanned"))
	}
	return nil
}

// remove removes the oldest rows of both tables, a tenth of the partitions, or one.
func (p *parted) remove(ctx context.Context) error {
	parts := max(p.n/10, 1)
	rows := p.before(parts)
	err := p.removeRows(ctx, split, "drop", rows, func() (err error) {
		p.values["drop"], err = p.b.timed(func() error { return p.drop(ctx, 0, parts) })
		return err
	})
	if err != nil {
		return err
	}
	name, took := p.tables[whole].Name, map[string]float64{}
	return p.removeRows(ctx, whole, "delete", rows, func() error {
		err := p.b.deleteOldest(ctx, name, "id", p.b.Value(p.ids[rows]), rows, took)
		p.values["delete"] = took["time"] + took["vacuum"] // MariaDB purges in the background
		p.values["drop_factor"] = p.values["delete"] / p.values["drop"]
		return err
	})
}

// removeRows runs f, which removes the oldest rows of a table, and adds the log and the space that stays in the table's
// files.
func (p *parted) removeRows(ctx context.Context, table int, name string, rows int, f func() error) error {
	t := p.tables[table].Name
	before, _, err := p.bytes(ctx, t)
	if err != nil {
		return err
	}
	cost, err := p.b.Measure(ctx, []string{t}, f)
	if err != nil {
		return err
	}
	after, _, err := p.bytes(ctx, t)
	if err != nil {
		return err
	}
	if cost.Usage.Log >= 0 {
		p.values[name+"_log"] = float64(cost.Usage.Log) / float64(rows)
	}
	if removed := before * int64(rows) / int64(len(p.ids)); removed > 0 { // bytes that they took
		p.values[name+"_left"] = 100 * max(0, 1-float64(before-after)/float64(removed))
	}
	var left int
	err = p.b.get(ctx, "SELECT count(*) FROM "+t, nil, &left)
	if err == nil && left != len(p.ids)-rows {
		err = fmt.Errorf("%d rows are left in %s, want %d", left, t, len(p.ids)-rows)
	}
	return err
}

// children adds rows that refer to each table, with an index on the reference, and drops one more partition, to which no
// row refers. Where a reference to partitions cannot be a foreign key, neither is one, and only the sizes are compared.
func (p *parted) children(ctx context.Context) error {
	rows := len(p.ids) / 5
	random, parents := p.b.random(), make([]int, rows)
	for i := range parents { // rows are added to the newer half
		parents[i] = len(p.ids)/2 + (len(p.ids)-len(p.ids)/2)*i/rows
		parents[i] = max(parents[i]-random.IntN(recent), len(p.ids)/2)
	}
	var in [2]Insert
	for i, name := range []string{"parts_whole_child", "parts_split_child"} {
		columns, index := []engine.Column{{Name: "parent_id", Type: engine.Key}}, []string{"parent_id"}
		pair := i == split && p.byTime
		if pair {
			columns, index = append(columns, engine.Column{Name: "parent_time"}), append(index, "parent_time")
		}
		in[i] = Insert{
			Table: p.b.Table(name, append(columns, engine.Column{Name: "amount"}), index),
			Fill: func(row []any, i int) {
				row[0], row[len(row)-1] = p.b.Value(p.ids[parents[i]]), int64(i)
				if pair {
					row[1] = moment(parents[i])
				}
			},
		}
	}
	if err := p.b.Create(ctx, in[whole].Table, in[split].Table); err != nil {
		return err
	}
	unsupported := p.refer(ctx, in[split].Table, split)
	if unsupported == nil {
		unsupported = p.refer(ctx, in[whole].Table, whole)
	}
	if unsupported != nil && !errors.Is(unsupported, errors.ErrUnsupported) {
		return unsupported
	}
	for i := range in {
		var err error
		if in[i].Source, err = p.b.source(0, 1, nil); err != nil {
			return err
		}
	}
	took, err := p.inTurns(ctx, rows, in)
	if err != nil {
		return err
	}
	width := map[key.Store]int{key.Integer: 8, key.UUID: 16, key.Text: p.b.Kind.Length}[p.b.Kind.Store]
	if p.byTime {
		width += 8
	}
	p.values["foreign_width"] = float64(width)
	for i, name := range []string{"foreign_index_one", "foreign_index"} {
		sizes := map[string]float64{}
		if err := p.b.Sizes(ctx, sizes, in[i].Table.Name, rows); err != nil {
			return err
		}
		p.values[name] = sizes["bytes_secondary"]
	}
	if unsupported != nil {
		return unsupported
	}
	p.values["foreign_factor"] = took[whole].Seconds() / took[split].Seconds()
	if err := p.b.Settle(ctx, in[split].Table.Name); err != nil {
		return err
	}
	p.values["drop_referred"], err = p.b.timed(func() error { return p.drop(ctx, max(p.n/10, 1), 1) })
	return err
}
