package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
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
	var ids []any
	if _, err := b.fill(ctx, table, b.Number("rows"), &ids); err != nil {
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
	cost, err := b.Measure(ctx, []string{table.Name}, func() error {
		for part := range slices.Chunk(chosen, together) {
			if err := b.update(ctx, table.Name, part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	cost.Into(values, len(chosen))
	return values, b.hot(ctx, values, table.Name, len(chosen))
}

// update adds 1 to the amounts of rows.
func (b *Bench) update(ctx context.Context, table string, ids []any) error {
	tx, err := b.DB().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	statement, err := tx.PrepareContext(ctx, b.updateText(table))
	if err != nil {
		return err
	}
	defer func() { _ = statement.Close() }()
	for _, id := range ids {
		if err := updateRow(ctx, statement, id); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// updateRow runs a statement of updateText.
func updateRow(ctx context.Context, statement *sql.Stmt, id any) error {
	result, err := statement.ExecContext(ctx, id)
	if err != nil {
		return fmt.Errorf("update a row: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(fmt.Errorf("%d rows were updated, want 1", n), err)
	}
	return nil
}

func (b *Bench) updateText(table string) string {
	return fmt.Sprintf("UPDATE %s SET amount = amount + 1 WHERE id = %s", table, b.Placeholder(1))
}

// hot adds the share of HOT updates if PostgreSQL has counted all n updates. Older servers count late. Other sessions of
// the database lower the share, because rows that their transactions may still see take room in the pages.
func (b *Bench) hot(ctx context.Context, values map[string]float64, table string, n int) error {
	if b.Dialect() != "postgres" {
		return nil
	}
	var all, hot, others int
	err := b.get(ctx, `SELECT pg_stat_get_tuples_updated(r), pg_stat_get_tuples_hot_updated(r),
			(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
			AND application_name IS DISTINCT FROM current_setting('application_name'))
		FROM CAST($1 AS regclass) r`, []any{table}, &all, &hot, &others)
	if err != nil || all != n {
		return err
	}
	values["hot"] = 100 * float64(hot) / float64(n)
	if others > 0 {
		return engine.Unsupported("%d other sessions used the database; their transactions can lower the share of HOT updates",
			others)
	}
	return nil
}
