package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

var read = Scenario{
	Name:     "read",
	Title:    "Finding rows",
	Question: "How long does it take to find a row, the newest page of rows, a range of time, and to join two tables?",
	Kinds:    four,
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		return []measure.Params{measure.P("rows", min(o.Rows, timedRows))}
	},
	Run: runRead,
}

// How often queries run. The medians of all queries take about a second together.
const (
	lookups = 3000
	newests = 300
	ranges  = 40
	scans   = 6 // of a whole table

	page = 50 // rows of the newest page
)

// outOfOrder are the kinds whose keys do not rise with time.
var outOfOrder = []string{"uuidv4", "uuidv4-text"}

// inTimeOrder reports whether the keys rise with time, so that a range of keys is a range of time. Keys of the same
// time may be in any order, as with several workers.
func (b *Bench) inTimeOrder() bool { return !slices.Contains(outOfOrder, b.Kind.Name) }

// query is a query whose median time is a metric.
type query struct {
	name    string
	in      func(time.Duration) float64
	n, rows int // how often it runs, and how many rows it finds
	text    string
	args    func() []any
}

// runRead fills accounts and their children, which follow them closely, and reads. Each query runs some times before it
// is measured, so that the figures are those of a warm cache, if it is large enough.
func runRead(ctx context.Context, b *Bench) (map[string]float64, error) {
	parent, child, ids, err := b.family(ctx, "read", b.Number("rows"))
	if err != nil {
		return nil, err
	}
	random, table := b.random(), parent.Name
	err = b.Do(ctx, Insert{Table: child, Rows: len(ids), Batch: 1000, Fill: func(row []any, i int) {
		row[0], row[1] = b.Value(ids[max(i-random.IntN(recent), 0)]), int64(i)
	}})
	if err != nil {
		return nil, err
	}
	if err := b.Settle(ctx, table, child.Name); err != nil {
		return nil, err
	}
	sorted := slices.SortedFunc(slices.Values(ids), compareKeys)
	rows := max(len(ids)/100, 1) // 1 %, in the middle
	first := (len(ids) - rows) / 2
	newest := func(column string) string {
		return fmt.Sprintf("SELECT id, name, amount, created_at FROM %s ORDER BY %s DESC LIMIT %d", table, column, page)
	}
	between := func(column string) string {
		return fmt.Sprintf("SELECT id, name, amount FROM %s WHERE %s >= %s AND %s <= %s", table, column, b.Placeholder(1),
			column, b.Placeholder(2))
	}
	args := func(list ...any) func() []any { return func() []any { return list } }
	times := args(moment(first), moment(first+rows-1))
	queries := []query{
		{
			"lookup", microseconds, min(lookups, 2*len(ids)), 1,
			fmt.Sprintf("SELECT name, amount, created_at FROM %s WHERE id = %s", table, b.Placeholder(1)),
			func() []any { return []any{b.Value(ids[random.IntN(len(ids))])} },
		},
		{"join", milliseconds, scans, 1, fmt.Sprintf("SELECT sum(c.amount - p.amount) FROM %s c JOIN %s p ON p.id = c.parent_id",
			child.Name, table), args()},
		{"range_scan", milliseconds, scans, rows, between("created_at"), times},
	}
	if b.inTimeOrder() {
		// A range of keys is one of time, if keys contain a time; for auto-increment it is that of known rows.
		queries = append(queries, query{"newest_key", microseconds, newests, min(page, len(ids)), newest("id"), args()},
			query{
				"range_key", milliseconds, ranges, rows, between("id"),
				args(b.Value(sorted[first]), b.Value(sorted[first+rows-1])),
			})
	}
	values := map[string]float64{}
	if err := b.medians(ctx, values, queries); err != nil {
		return nil, err
	}
	// The index is created last: without it the range of time must read all rows.
	_, err = b.DB().ExecContext(ctx, fmt.Sprintf("CREATE INDEX %s_created_at ON %s (created_at)", table, table))
	return values, errors.Join(err, b.Settle(ctx, table), b.medians(ctx, values, []query{
		{"newest_time", microseconds, newests, min(page, len(ids)), newest("created_at"), args()},
		{"range_time", milliseconds, ranges, rows, between("created_at"), times},
	}))
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

// medians adds the median times of queries to values.
func (b *Bench) medians(ctx context.Context, values map[string]float64, queries []query) error {
	for _, q := range queries {
		took, err := b.times(ctx, q)
		if err != nil {
			return fmt.Errorf("%s: %w", q.text, err)
		}
		values[q.name] = q.in(took[len(took)/2])
	}
	return nil
}

// times runs a query on one connection, at first without measuring, and returns the sorted durations.
func (b *Bench) times(ctx context.Context, q query) (took []time.Duration, err error) {
	conn, err := b.DB().Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	statement, err := conn.PrepareContext(ctx, q.text)
	if err != nil {
		return nil, err
	}
	defer func() { _ = statement.Close() }()
	for i := -max(q.n/20, 1); i < q.n; i++ {
		args := q.args()
		start := time.Now()
		if err := readAll(ctx, statement, q.rows, args...); err != nil {
			return nil, err
		}
		if i >= 0 {
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	return took, nil
}

// readAll runs a query, reads all columns of all rows, and returns an error if the number of rows is wrong.
func readAll(ctx context.Context, statement *sql.Stmt, rows int, args ...any) error {
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
