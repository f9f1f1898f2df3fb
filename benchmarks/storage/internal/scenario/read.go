package scenario

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/snowflake"
)

var read = Scenario{
	Name:  "read",
	Title: "Finding rows",
	Question: "How long do a lookup, a join, the newest page and a range of time take, with the key and with an index on " +
		"created_at?",
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		return []measure.Params{measure.P("rows", half(o.Rows))}
	},
	Run: runRead,
}

// half is for scenarios that are slow and measure no sizes. Few rows stay as they are.
func half(rows int) int { return max(rows/2, min(rows, 2000)) }

const (
	lookups    = 2000 // of single rows; a tenth of it in small tables
	page       = 50   // rows of the newest page
	neighbours = 1000 // rows that are read to count pages
	repeats    = 5    // of queries that take milliseconds; the median counts
	pages      = 200  // newest pages to read
)

// reader reads from a table of accounts.
type reader struct {
	b      *Bench
	table  string
	child  string
	ids    []any // in order of arrival
	sorted []any // in key order
	values map[string]float64
}

// runRead fills accounts and their children, which follow them closely, and reads. Each query runs once before it is
// measured, so that the figures are those of a warm cache, if it is large enough.
func runRead(ctx context.Context, b *Bench) (map[string]float64, error) {
	r, err := b.fillRead(ctx)
	if err != nil {
		return nil, err
	}
	ordered, err := b.inTimeOrder()
	if err != nil {
		return nil, err
	}
	steps := []func(context.Context) error{r.lookup, r.join, r.scanTime, r.neighbours}
	if ordered {
		steps = append(steps, r.newestKey, r.rangeKey)
	}
	// The index is created last: without it the range of time must read all rows.
	steps = append(steps, r.addIndex, r.newestTime, r.rangeTime, r.together)
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return r.values, nil
}

func (b *Bench) fillRead(ctx context.Context) (*reader, error) {
	parent := b.Table("read", account)
	child := b.Table("read_child", []engine.Column{
		{Name: "parent_id", Type: engine.Key, References: parent.Name}, {Name: "amount"},
	}, []string{"parent_id"})
	if err := b.Create(ctx, parent, child); err != nil {
		return nil, err
	}
	rows := b.Number("rows")
	r := &reader{b: b, table: parent.Name, child: child.Name, ids: make([]any, 0, rows), values: map[string]float64{}}
	err := b.Do(ctx, Insert{
		Table: parent, Rows: rows, Batch: 1000, Fill: fillAccount,
		Keep: func(_ int, id any) { r.ids = append(r.ids, id) },
	})
	if err != nil {
		return nil, err
	}
	r.sorted = slices.SortedFunc(slices.Values(r.ids), compareKeys)
	random := r.random()
	err = b.Do(ctx, Insert{Table: child, Rows: rows, Batch: 1000, Fill: func(row []any, i int) {
		row[0], row[1] = b.Value(r.ids[max(i-random.IntN(recent), 0)]), int64(i)
	}})
	if err != nil {
		return nil, err
	}
	return r, b.Settle(ctx, parent.Name, child.Name)
}

func (r *reader) random() *rand.Rand {
	return rand.New(rand.NewPCG(r.b.Options.Seed, uint64(r.b.Round))) //nolint:gosec // a benchmark's choice of rows
}

// inTimeOrder reports whether the keys rise with time, so that a range of keys is a range of time. Keys of the same
// time may be in any order, as with several workers.
func (b *Bench) inTimeOrder() (bool, error) {
	source, err := b.Kind.New(key.Config{Seed: b.Options.Seed, Clients: 1})
	if source == nil || err != nil {
		return err == nil, err // made by the database
	}
	var highest any
	for i := range 3 {
		if i > 0 {
			time.Sleep(2 * snowflake.DefaultLead) // a generator may lead the clock, and begins so
		}
		batch := make([]any, 100)
		if err := source.Draw(batch); err != nil {
			return false, err
		}
		slices.SortFunc(batch, compareKeys)
		if highest != nil && compareKeys(batch[0], highest) <= 0 {
			return false, nil
		}
		highest = batch[len(batch)-1]
	}
	return true, nil
}

// compareKeys compares values of one Source in the database's order.
func compareKeys(a, b any) int {
	switch a := a.(type) {
	case int64:
		return int(min(max(a-b.(int64), -1), 1)) // both are positive
	case [16]byte:
		b := b.([16]byte)
		return slices.Compare(a[:], b[:])
	default:
		return slices.Compare([]byte(a.(string)), []byte(b.(string)))
	}
}

// part returns a range of 1 % of the rows, in the middle.
func (r *reader) part() (first, rows int) {
	rows = max(len(r.ids)/100, 1)
	return (len(r.ids) - rows) / 2, rows
}

// moment returns created_at of a row.
func (r *reader) moment(row int) any {
	columns := make([]any, len(account))
	fillAccount(columns, row)
	return columns[2]
}

// query runs a query, reads all columns of all rows, and returns an error if the number of rows is wrong.
func (r *reader) query(ctx context.Context, statement *sql.Stmt, rows int, args ...any) error {
	result, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer result.Close()
	names, err := result.Columns()
	if err != nil {
		return err
	}
	columns := make([]any, len(names))
	for i := range columns {
		columns[i] = new(sql.RawBytes)
	}
	found := 0
	for result.Next() {
		if err := result.Scan(columns...); err != nil {
			return err
		}
		found++
	}
	if err := result.Err(); err != nil {
		return err
	}
	if found != rows {
		return fmt.Errorf("%s: found %d rows, want %d", r.table, found, rows)
	}
	return nil
}

// times runs a query n times on one connection and returns the sorted durations. args is called before each.
func (r *reader) times(ctx context.Context, text string, n, rows int, args func() []any) (took []time.Duration, err error) {
	conn, err := r.b.DB().Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	statement, err := conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	defer func() { _ = statement.Close() }()
	warm := max(n/20, 1)
	for i := range warm + n {
		values := args()
		start := time.Now()
		if err := r.query(ctx, statement, rows, values...); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		if i >= warm {
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	return took, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// lookup finds single rows at random.
func (r *reader) lookup(ctx context.Context) error {
	random, n := r.random(), lookups
	if len(r.ids) < n {
		n /= 10
	}
	text := fmt.Sprintf("SELECT name, amount, created_at FROM %s WHERE id = %s", r.table, r.b.Placeholder(1))
	took, err := r.times(ctx, text, n, 1, func() []any {
		return []any{r.b.Value(r.ids[random.IntN(len(r.ids))])}
	})
	if err != nil {
		return err
	}
	r.values["lookup"] = microseconds(took[len(took)/2])
	r.values["lookup_p99"] = microseconds(took[len(took)*99/100])
	return nil
}

// join computes a sum over all children and their parents.
func (r *reader) join(ctx context.Context) error {
	return r.millis(ctx, "join", 1, fmt.Sprintf(
		"SELECT sum(c.amount - p.amount) FROM %s c JOIN %s p ON p.id = c.parent_id", r.child, r.table))
}

// newestKey reads the newest rows by key.
func (r *reader) newestKey(ctx context.Context) error { return r.newest(ctx, "newest_key", "id") }

// newestTime reads them by created_at, which has an index.
func (r *reader) newestTime(ctx context.Context) error {
	return r.newest(ctx, "newest_time", "created_at")
}

func (r *reader) newest(ctx context.Context, name, column string) error {
	text := fmt.Sprintf("SELECT id, name, amount, created_at FROM %s ORDER BY %s DESC LIMIT %d", r.table, column, page)
	took, err := r.times(ctx, text, pages, min(page, len(r.ids)), func() []any { return nil })
	if err != nil {
		return err
	}
	r.values[name] = microseconds(took[len(took)/2])
	return nil
}

// rangeKey reads 1 % of the rows as a range of keys. If keys contain a time, the bounds are made from two times; for
// auto-increment they are those of known rows.
func (r *reader) rangeKey(ctx context.Context) error {
	first, rows := r.part()
	return r.millis(ctx, "range_key", rows, fmt.Sprintf("SELECT id, name, amount FROM %s WHERE id >= %s AND id <= %s",
		r.table, r.b.Placeholder(1), r.b.Placeholder(2)), r.b.Value(r.sorted[first]), r.b.Value(r.sorted[first+rows-1]))
}

// scanTime reads the same rows by a column without an index.
func (r *reader) scanTime(ctx context.Context) error { return r.byTime(ctx, "range_scan") }

// rangeTime reads them with an index on that column.
func (r *reader) rangeTime(ctx context.Context) error { return r.byTime(ctx, "range_time") }

func (r *reader) byTime(ctx context.Context, name string) error {
	first, rows := r.part()
	return r.millis(ctx, name, rows, r.timeRange(), r.moment(first), r.moment(first+rows-1))
}

func (r *reader) timeRange() string {
	return fmt.Sprintf("SELECT id, name, amount FROM %s WHERE created_at >= %s AND created_at <= %s",
		r.table, r.b.Placeholder(1), r.b.Placeholder(2))
}

// millis adds the median time of a query to values.
func (r *reader) millis(ctx context.Context, name string, rows int, text string, args ...any) error {
	took, err := r.times(ctx, text, repeats, rows, func() []any { return args })
	if err != nil {
		return err
	}
	r.values[name] = milliseconds(took[len(took)/2])
	return nil
}

func (r *reader) addIndex(ctx context.Context) error {
	text := fmt.Sprintf("CREATE INDEX %s_created_at ON %s (created_at)", r.table, r.table)
	if _, err := r.b.DB().ExecContext(ctx, text); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return r.b.Settle(ctx, r.table)
}

// neighbours counts the pages of rows with neighbouring keys.
func (r *reader) neighbours(ctx context.Context) error {
	if len(r.ids) < neighbours {
		return nil
	}
	text := fmt.Sprintf("SELECT id, name, amount FROM %s WHERE id >= %s ORDER BY id LIMIT %d",
		r.table, r.b.Placeholder(1), neighbours)
	return r.pages(ctx, "pages_key", text, r.b.Value(r.sorted[(len(r.sorted)-neighbours)/2]))
}

// together counts the pages of rows that arrived together.
func (r *reader) together(ctx context.Context) error {
	if len(r.ids) < neighbours {
		return nil
	}
	first := (len(r.ids) - neighbours) / 2
	return r.pages(ctx, "pages_time", r.timeRange(), r.moment(first), r.moment(first+neighbours-1))
}

// pages adds the number of pages that a query accesses to values, if the database counts them.
func (r *reader) pages(ctx context.Context, name, text string, args ...any) error {
	const times = 20 // so that the accesses of the counting itself are few
	before, err := r.b.Usage(ctx)
	if err != nil || before.Hits < 0 {
		return err
	}
	// The connection returns to the pool before the counters are read, because a server may count idle connections
	// only.
	if _, err := r.times(ctx, text, times, neighbours, func() []any { return args }); err != nil {
		return err
	}
	after, err := r.b.Usage(ctx)
	if err != nil {
		return err
	}
	used := after.Since(before)
	if used.Hits >= 0 && used.Reads >= 0 {
		r.values[name] = float64(used.Hits+used.Reads) / float64(times+max(times/20, 1))
	}
	return nil
}
