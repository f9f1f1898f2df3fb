package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

var retention = Scenario{
	Name:     "retention",
	Title:    "Deleting old rows",
	Question: "How long does it take to delete the oldest tenth of a table, and is the space free afterwards?",
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		rows := min(max(half(o.Rows), 10), 2*timedRows)
		return []measure.Params{measure.P("rows", rows, "by", "time"), measure.P("rows", rows, "by", "key")}
	},
	OnceFor: func(p measure.Params) bool { return p.Get("by") == "key" },
	Run:     runRetention,
}

// runRetention deletes by a range of created_at, which has an index, or by a range of keys, without such an index. All
// tables of a case have the same indexes, so that the key is the only difference.
func runRetention(ctx context.Context, b *Bench) (map[string]float64, error) {
	rows := b.Number("rows")
	table, oldest := b.Table("retention", account), rows/10
	column := "id"
	if b.Params.Get("by") == "time" {
		column = "created_at"
		table.Indexes = [][]string{{column}}
	} else if !b.inTimeOrder() {
		return nil, engine.Unsupported("the keys do not rise with time, so they do not tell which rows are old")
	}
	if _, err := b.fill(ctx, table, rows, nil); err != nil {
		return nil, err
	}
	if err := b.Settle(ctx, table.Name); err != nil {
		return nil, err
	}
	var cut any // of the oldest row that stays
	text := fmt.Sprintf("SELECT %s FROM %s ORDER BY %s LIMIT 1 OFFSET %d", column, table.Name, column, oldest)
	if err := b.get(ctx, text, nil, &cut); err != nil {
		return nil, err
	}
	before, err := b.pagesInUse(ctx, table.Name)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	cost, err := b.Measure(ctx, []string{table.Name}, func() error {
		return b.deleteOldest(ctx, table.Name, column, cut, oldest, values)
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return map[string]float64{"time": values["time"]}, err // of the DELETE; the rest is not complete
	}
	if err != nil {
		return nil, err
	}
	cost.Into(values, oldest)
	delete(values, "rate") // the time covers more than the DELETE
	after, err := b.pagesInUse(ctx, table.Name)
	if err != nil {
		return nil, err
	}
	if before >= 0 && after >= 0 {
		values["freed"] = float64(before - after)
		values["freed_share"] = 100 * float64(before-after) / float64(max(before, 1))
	}
	if b.Dialect() == "sqlite" { // SQLite needs this to remove freed pages from the file
		values["vacuum"], err = b.timed(func() error { return b.run(ctx, "VACUUM") })
	}
	return values, err
}

// deleteOldest deletes and makes the database clean up. MariaDB does so in the background, and its time is not
// reported.
func (b *Bench) deleteOldest(
	ctx context.Context, table, column string, cut any, oldest int, values map[string]float64,
) error {
	text := fmt.Sprintf("DELETE FROM %s WHERE %s < %s", table, column, b.Placeholder(1))
	start := time.Now()
	result, err := b.DB().ExecContext(ctx, text, cut)
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	values["time"] = milliseconds(time.Since(start))
	if n, err := result.RowsAffected(); err != nil || n != int64(oldest) {
		return errors.Join(fmt.Errorf("%s: deleted %d rows, want %d", text, n, oldest), err)
	}
	switch b.Dialect() {
	case "postgres":
		values["vacuum"], err = b.vacuum(ctx, table)
		return err
	case "mariadb":
		return b.waitForPurge(ctx, table)
	}
	return nil
}

// pagesInUse counts the non-empty pages of the rows and the primary key; -1 if unknown. PostgreSQL does not report those
// of the rows.
func (b *Bench) pagesInUse(ctx context.Context, table string) (int64, error) {
	trees, err := b.Trees(ctx, table)
	pages := int64(-1)
	for _, t := range trees {
		if t.Role != engine.Secondary && t.Pages > 0 {
			pages = max(pages, 0) + t.Pages
		}
	}
	return pages, err
}
