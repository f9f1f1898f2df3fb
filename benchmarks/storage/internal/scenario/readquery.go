package scenario

import (
	"context"
	"fmt"
)

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
