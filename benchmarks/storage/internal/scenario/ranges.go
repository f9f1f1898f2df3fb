package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

var timeRanges = Scenario{
	Name:  "ranges",
	Title: "Ways to a range of time",
	Question: "What finds 1,000 rows by their time, and deletes the oldest tenth: the key, a BRIN index, or an index on " +
		"created_at?",
	Cases: func(o Options, e engine.Engine) []measure.Params {
		by := map[string][]string{
			"postgres": {"key", "brin", "time"}, "mariadb": {"key", "time"},
		}[e.Dialect()]
		var cases []measure.Params
		for _, way := range by {
			cases = append(cases, measure.P("rows", max(half(o.Rows), neighbours), "by", way))
		}
		return cases
	},
	Once: true,
	Run:  runRanges,
}

// runRanges reads and removes rows. Keys with a time would give the bounds; here they are those of known rows, so that
// auto-increment can be measured too, for which an application must store them.
func runRanges(ctx context.Context, b *Bench) (map[string]float64, error) {
	by := b.Params.Get("by")
	if !b.inTimeOrder() && by != "time" {
		return nil, engine.Unsupported("a range of these keys is not a range of time")
	}
	table := b.Table("ranges", account)
	if by == "time" {
		table.Indexes = [][]string{{"created_at"}}
	}
	var ids []any
	if _, err := b.fill(ctx, table, b.Number("rows"), &ids); err != nil {
		return nil, err
	}
	var err error
	name, remove := table.Name, fmt.Sprintf("DELETE FROM %s WHERE id < %s", table.Name, b.literal(ids[len(ids)/10]))
	switch by {
	case "brin":
		err = b.run(ctx, "ALTER TABLE "+name+" DROP CONSTRAINT "+name+"_pkey",
			"CREATE INDEX ON "+name+" USING brin (id) WITH (pages_per_range = 32)")
	case "time":
		remove = fmt.Sprintf("DELETE FROM %s WHERE created_at < %v", name, moment(len(ids)/10))
	}
	if err == nil {
		err = b.Settle(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	noted := b.readRange(ctx, values, name, by, ids)
	if noted != nil && !errors.Is(noted, errors.ErrUnsupported) {
		return nil, noted
	}
	if err := b.removeOldest(ctx, values, name, remove, len(ids)); err != nil {
		return nil, err
	}
	return values, noted
}

// literal returns a key as SQL.
func (b *Bench) literal(id any) string {
	switch id.(type) {
	case int64:
		return fmt.Sprint(id)
	case string:
		return fmt.Sprintf("'%s'", id)
	}
	return fmt.Sprintf(map[string]string{"postgres": "'%x'", "mariadb": "x'%x'"}[b.Dialect()], id)
}

// readRange adds the time to read 1,000 rows, the pages accessed for it, and on PostgreSQL the size of the index.
func (b *Bench) readRange(ctx context.Context, values map[string]float64, table, by string, ids []any) error {
	r := &reader{b: b, table: table, ids: ids, values: values}
	// Far enough from both ends for an index to pay.
	first := max(len(ids)*9/20-neighbours/2, 0)
	last := first + neighbours - 1
	column, args := "id", []any{b.Value(ids[first]), b.Value(ids[last])}
	if by == "time" {
		column, args = "created_at", []any{moment(first), moment(last)}
	}
	text := r.between(column)
	plan, err := b.explain(ctx, text, args...)
	if err == nil && (strings.Contains(plan, "Seq Scan") || strings.Contains(plan, " ALL ")) {
		return engine.Unsupported("the database reads the whole table of %d rows, not by %s", len(ids), by)
	}
	if err != nil {
		return err
	}
	err = r.medians(ctx, []query{{"time", milliseconds, ranges, neighbours, text, args}})
	if err == nil {
		err = r.pages(ctx, "pages", text, args...)
	}
	if err != nil || b.Dialect() != "postgres" {
		return err
	}
	var bytes int64
	err = b.get(ctx, `SELECT sum(pg_relation_size(indexrelid)) FROM pg_index
		WHERE indisprimary = $2 AND indrelid = CAST($1 AS regclass)`, []any{table, by == "key"}, &bytes)
	values["index_used"] = float64(bytes) / float64(len(ids))
	return err
}

// removeOldest runs the statement that removes the oldest tenth. What VACUUM or the purge does later is not in it.
func (b *Bench) removeOldest(ctx context.Context, values map[string]float64, table, text string, rows int) error {
	cost, err := b.Measure(ctx, []string{table}, func() error { return b.run(ctx, text) })
	if err != nil {
		return err
	}
	removed := rows / 10
	values["remove"] = milliseconds(cost.Elapsed)
	if cost.Usage.Log >= 0 {
		values["remove_log"] = float64(cost.Usage.Log) / float64(max(removed, 1))
	}
	var left int
	err = b.get(ctx, "SELECT count(*) FROM "+table, nil, &left)
	if err == nil && left != rows-removed {
		err = fmt.Errorf("%s: %d rows are left, want %d", text, left, rows-removed)
	}
	return err
}
