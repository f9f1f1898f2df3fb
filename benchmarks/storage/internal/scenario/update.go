package scenario

import (
	"context"
	"fmt"
	"slices"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

var update = Scenario{
	Name:     "update",
	Title:    "Updating rows",
	Question: "What does it cost to update a column without an index, and what do wide secondary indexes add?",
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		rows := share(o.Rows, 4, 2000)
		return []measure.Params{
			measure.P("rows", rows, "of", "recent", "indexes", 0),
			measure.P("rows", rows, "of", "random", "indexes", 0),
			measure.P("rows", rows, "of", "random", "indexes", len(wide)),
		}
	},
	Once: true,
	Run:  runUpdate,
}

// wide are secondary indexes, none of them on the column that is updated.
var wide = [][]string{{"name"}, {"created_at"}, {"name", "created_at"}}

// together is the number of updates in a transaction.
const together = 100

// runUpdate updates a tenth as many rows as there are. PostgreSQL makes an update HOT, without new index entries, if
// the row's page has room and no index has the column: https://www.postgresql.org/docs/current/storage-hot.html.
func runUpdate(ctx context.Context, b *Bench) (map[string]float64, error) {
	table := b.Table("update", account)
	table.Indexes = wide[:b.Number("indexes")]
	ids, err := b.filled(ctx, table, nil)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	if err := b.Sizes(ctx, values, table.Name, len(ids)); err != nil {
		return nil, err
	}
	among := ids
	if b.Params.Get("of") == "recent" {
		among = ids[max(len(ids)-recent, 0):]
	}
	random, chosen := b.random(), make([]any, max(len(ids)/10, 1))
	for i := range chosen {
		chosen[i] = b.Value(among[random.IntN(len(among))])
	}
	cost, err := b.Measure(ctx, []string{table.Name}, func() error { return b.update(ctx, table.Name, chosen) })
	if err != nil {
		return nil, err
	}
	cost.Into(values, len(chosen))
	return values, b.hot(ctx, values, table.Name, len(chosen))
}

// filled creates a table, inserts the rows of the parameter, and returns their keys in order of arrival. A nil source is a
// new one of the kind.
func (b *Bench) filled(ctx context.Context, table engine.Table, source key.Source) ([]any, error) {
	if err := b.Create(ctx, table); err != nil {
		return nil, err
	}
	ids := make([]any, 0, b.Number("rows"))
	err := b.Do(ctx, Insert{
		Table: table, Rows: b.Number("rows"), Batch: 1000, Fill: fillAccount, Source: source,
		Keep: func(_ int, id any) { ids = append(ids, id) },
	})
	return ids, err
}

func (b *Bench) update(ctx context.Context, table string, ids []any) error {
	text := b.updateText(table)
	for part := range slices.Chunk(ids, together) {
		tx, err := b.DB().BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after Commit it does nothing
		statement, err := tx.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		defer func() { _ = statement.Close() }()
		for _, id := range part {
			if _, err := statement.ExecContext(ctx, id); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bench) updateText(table string) string {
	return fmt.Sprintf("UPDATE %s SET amount = amount + 1 WHERE id = %s", table, b.Placeholder(1))
}

// hot adds the share of HOT updates if PostgreSQL has counted all n updates. Older servers count late.
func (b *Bench) hot(ctx context.Context, values map[string]float64, table string, n int) error {
	if b.Dialect() != "postgres" {
		return nil
	}
	var all, hot int
	err := b.DB().QueryRowContext(ctx, `SELECT pg_stat_get_tuples_updated(r), pg_stat_get_tuples_hot_updated(r)
		FROM CAST($1 AS regclass) r`, table).Scan(&all, &hot)
	if err == nil && all == n {
		values["hot"] = 100 * float64(hot) / float64(n)
	}
	return err
}
