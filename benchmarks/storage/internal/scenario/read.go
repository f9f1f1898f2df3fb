package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

var read = Scenario{
	Name:     "read",
	Title:    "Finding rows",
	Question: "How long does it take to find a row, the newest rows, a range of time, and to join two tables?",
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		var cases []measure.Params
		for _, rows := range withLarge(o.Rows) {
			cases = append(cases, measure.P("rows", rows))
		}
		return cases
	},
	OnceFor: large,
	Run:     runRead,
}

// half is for scenarios that are slow and measure no sizes. Few rows stay as they are.
func half(rows int) int { return max(rows/2, min(rows, 2000)) }

// How often queries run. The medians of all queries take about a second together.
const (
	lookups = 3000
	newests = 300
	ranges  = 40
	scans   = 6 // of a whole table

	page       = 50   // rows of the newest page
	neighbours = 1000 // rows that are read to count pages
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

// runRead fills accounts and their children, which follow them closely, and reads. Each query runs some times before it
// is measured, so that the figures are those of a warm cache, if it is large enough.
func runRead(ctx context.Context, b *Bench) (map[string]float64, error) {
	r, err := b.fillRead(ctx)
	if err != nil {
		return nil, err
	}
	first, rows := r.part()
	times := []any{moment(first), moment(first + rows - 1)}
	// A range of keys is one of time, if keys contain a time; for auto-increment it is that of known rows.
	keys := []any{b.Value(r.sorted[first]), b.Value(r.sorted[first+rows-1])}
	newest := min(page, len(r.ids))
	before := []query{
		{"join", milliseconds, scans, 1, fmt.Sprintf(
			"SELECT sum(c.amount - p.amount) FROM %s c JOIN %s p ON p.id = c.parent_id", r.child, r.table), nil},
		{"range_scan", milliseconds, scans, rows, r.between("created_at"), times},
	}
	if b.inTimeOrder() {
		before = append(before, query{"newest_key", microseconds, newests, newest, r.newest("id"), nil},
			query{"range_key", milliseconds, ranges, rows, r.between("id"), keys})
	}
	middle := (len(r.ids) - neighbours) / 2
	err = errors.Join(r.lookup(ctx), r.medians(ctx, before))
	if err == nil && middle >= 0 {
		err = r.pages(ctx, "pages_key", fmt.Sprintf("SELECT id, name, amount FROM %s WHERE id >= %s ORDER BY id LIMIT %d",
			r.table, b.Placeholder(1), neighbours), b.Value(r.sorted[middle]))
	}
	if err != nil {
		return nil, err
	}
	// The index is created last: without it the range of time must read all rows.
	if err := r.addIndex(ctx); err != nil {
		return nil, err
	}
	err = r.medians(ctx, []query{
		{"newest_time", microseconds, newests, newest, r.newest("created_at"), nil},
		{"range_time", milliseconds, ranges, rows, r.between("created_at"), times},
	})
	if err == nil && middle >= 0 {
		err = r.pages(ctx, "pages_time", r.between("created_at"), moment(middle), moment(middle+neighbours-1))
	}
	return r.values, err
}

// outOfOrder are the kinds whose keys do not rise with time.
var outOfOrder = []string{
	"snowflake-first", "snowflake-reversed", "uuidv4", "uuidv4-to-v7", "uuidv4-server", "uuidv4-text",
}

// inTimeOrder reports whether the keys rise with time, so that a range of keys is a range of time. Keys of the same
// time may be in any order, as with several workers.
func (b *Bench) inTimeOrder() bool { return !slices.Contains(outOfOrder, b.Kind.Name) }

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

// query is a query whose median time is a metric.
type query struct {
	name    string
	in      func(time.Duration) float64
	n, rows int // how often it runs, and how many rows it finds
	text    string
	args    []any
}

// medians adds the median times of queries to values.
func (r *reader) medians(ctx context.Context, queries []query) error {
	for _, q := range queries {
		took, err := r.times(ctx, q.text, q.n, q.rows, func() []any { return q.args })
		if err != nil {
			return err
		}
		r.values[q.name] = q.in(took[len(took)/2])
	}
	return nil
}

// newest returns a query for the newest rows.
func (r *reader) newest(column string) string {
	return fmt.Sprintf("SELECT id, name, amount, created_at FROM %s ORDER BY %s DESC LIMIT %d", r.table, column, page)
}

// between returns a query for the rows between two values of a column.
func (r *reader) between(column string) string {
	return fmt.Sprintf("SELECT id, name, amount FROM %s WHERE %s >= %s AND %s <= %s",
		r.table, column, r.b.Placeholder(1), column, r.b.Placeholder(2))
}

// part returns a range of 1 % of the rows, in the middle.
func (r *reader) part() (first, rows int) {
	rows = max(len(r.ids)/100, 1)
	return (len(r.ids) - rows) / 2, rows
}

func (b *Bench) fillRead(ctx context.Context) (*reader, error) {
	rows := b.Number("rows")
	parent, child, keys, err := b.family(ctx, "read", rows)
	if err != nil {
		return nil, err
	}
	r := &reader{b: b, table: parent.Name, child: child.Name, ids: keys, values: map[string]float64{}}
	r.sorted = slices.SortedFunc(slices.Values(keys), compareKeys)
	random := b.random()
	err = b.Do(ctx, Insert{Table: child, Rows: rows, Batch: 1000, Fill: func(row []any, i int) {
		row[0], row[1] = b.Value(keys[max(i-random.IntN(recent), 0)]), int64(i)
	}})
	if err != nil {
		return nil, err
	}
	return r, b.Settle(ctx, parent.Name, child.Name)
}

// explain returns the plan of a query as text.
func (b *Bench) explain(ctx context.Context, query string, args ...any) (string, error) {
	prefix := "EXPLAIN "
	if b.Dialect() == "sqlite" {
		prefix = "EXPLAIN QUERY PLAN "
	}
	rows, err := b.DB().QueryContext(ctx, prefix+query, args...)
	if err != nil {
		return "", fmt.Errorf("%s%s: %w", prefix, query, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return "", err
	}
	values, columns := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		columns[i] = &values[i]
	}
	var plan strings.Builder
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return "", err
		}
		for i, value := range values {
			if names[i] != "possible_keys" {
				plan.WriteString(value.String + " ")
			}
		}
		plan.WriteByte('\n')
	}
	return plan.String(), rows.Err()
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
	for ; result.Next(); found++ {
		if err := result.Scan(columns...); err != nil {
			return err
		}
	}
	if err := result.Err(); err != nil {
		return err
	}
	if found != rows {
		return fmt.Errorf("found %d rows, want %d", found, rows)
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
	warm := warming(n)
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

// warming returns how often a query runs before it is measured n times.
func warming(n int) int { return max(n/20, 1) }

// lookup finds single rows at random.
func (r *reader) lookup(ctx context.Context) error {
	random, n := r.b.random(), min(lookups, 2*len(r.ids))
	text := fmt.Sprintf("SELECT name, amount, created_at FROM %s WHERE id = %s", r.table, r.b.Placeholder(1))
	took, err := r.times(ctx, text, n, 1, func() []any { return []any{r.b.Value(r.ids[random.IntN(len(r.ids))])} })
	if err != nil {
		return err
	}
	percentiles(r.values, took, "lookup", "lookup_p99")
	return nil
}

func (r *reader) addIndex(ctx context.Context) error {
	if err := r.b.run(ctx, fmt.Sprintf("CREATE INDEX %s_created_at ON %s (created_at)", r.table, r.table)); err != nil {
		return err
	}
	return r.b.Settle(ctx, r.table)
}

// pages adds the number of pages that a query for neighbouring rows accesses to values, if the database counts them.
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
		r.values[name] = float64(used.Hits+used.Reads) / float64(times+warming(times))
	}
	return nil
}
