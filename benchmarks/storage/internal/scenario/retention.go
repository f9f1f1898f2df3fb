package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

var retention = Scenario{
	Name:     "retention",
	Title:    "Deleting the oldest tenth",
	Question: "What does it cost to delete the oldest tenth of the rows, and are the pages freed?",
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		return []measure.Params{measure.P("rows", max(half(o.Rows), 10))}
	},
	Run: runRetention,
}

// runRetention deletes by a range of keys if keys rise with time. Otherwise the oldest rows can only be found by an
// index on created_at; such tables have one, and its cost is part of that of the key.
func runRetention(ctx context.Context, b *Bench) (map[string]float64, error) {
	ordered, err := b.inTimeOrder()
	if err != nil {
		return nil, err
	}
	table := b.Table("retention", account)
	if !ordered {
		table.Indexes = [][]string{{"created_at"}}
	}
	if err := b.Create(ctx, table); err != nil {
		return nil, err
	}
	rows := b.Number("rows")
	oldest := rows / 10
	if err := b.Do(ctx, Insert{Table: table, Rows: rows, Batch: 1000, Fill: fillAccount}); err != nil {
		return nil, err
	}
	if err := b.Settle(ctx, table.Name); err != nil {
		return nil, err
	}
	column, cut := "created_at", any(nil)
	if ordered {
		column = "id"
	}
	cut, err = b.firstKept(ctx, table.Name, column, oldest)
	if err != nil {
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
	if err != nil {
		return nil, err
	}
	cost.Into(values, oldest)
	delete(values, "rate") // the rate covers two tables
	after, err := b.pagesInUse(ctx, table.Name)
	if err != nil {
		return nil, err
	}
	if before >= 0 && after >= 0 {
		values["freed"] = float64(before - after)
		values["freed_share"] = 100 * float64(before-after) / float64(max(before, 1))
	}
	if b.Dialect() == "sqlite" { // SQLite needs this to remove freed pages from the file
		values["vacuum"], err = b.timed(func() error {
			_, err := b.DB().ExecContext(ctx, "VACUUM")
			return err
		})
	}
	return values, err
}

// firstKept returns the key or the time of the oldest row that stays.
func (b *Bench) firstKept(ctx context.Context, table, column string, oldest int) (any, error) {
	if column == "created_at" {
		row := make([]any, len(account))
		fillAccount(row, oldest)
		return row[2], nil
	}
	var cut any
	text := fmt.Sprintf("SELECT %s FROM %s ORDER BY %s LIMIT 1 OFFSET %d", column, table, column, oldest)
	if err := b.DB().QueryRowContext(ctx, text).Scan(&cut); err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return cut, nil
}

// deleteOldest deletes and makes the database clean up. MariaDB does so in the background, and its time is not
// reported.
func (b *Bench) deleteOldest(
	ctx context.Context, table, column string, cut any, oldest int, values map[string]float64,
) (err error) {
	text := fmt.Sprintf("DELETE FROM %s WHERE %s < %s", table, column, b.Placeholder(1))
	values["time"], err = b.timed(func() error {
		result, err := b.DB().ExecContext(ctx, text, cut)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if n, err := result.RowsAffected(); err != nil || n != int64(oldest) {
			return errors.Join(fmt.Errorf("%s: deleted %d rows, want %d", text, n, oldest), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch b.Dialect() {
	case "postgres":
		if err := b.waitForReaders(ctx); err != nil {
			return err
		}
		counted, err := b.Usage(ctx) // makes the sessions report their counts, so that VACUUM reports last
		if err != nil {
			return err
		}
		values["vacuum"], err = b.timed(func() error {
			_, err := b.DB().ExecContext(ctx, "VACUUM (INDEX_CLEANUP ON) "+table)
			return err
		})
		if err != nil || counted.Hits < 0 { // the counts of older servers are late
			return err
		}
		return b.vacuumed(ctx, table)
	case "mariadb":
		err = b.waitForPurge(ctx, table)
	}
	return err
}

// waitForReaders waits until no transaction of the database is older than now, because VACUUM keeps rows that a
// transaction can still see.
func (b *Bench) waitForReaders(ctx context.Context) error {
	var now int64
	if err := b.DB().QueryRowContext(ctx, "SELECT txid_current()").Scan(&now); err != nil {
		return err
	}
	for end := time.Now().Add(purgeTimeout); time.Now().Before(end); {
		var older int
		err := b.DB().QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND pid <> pg_backend_pid() AND backend_xmin::text::bigint < $1 & 4294967295`, now).Scan(&older)
		if err != nil || older == 0 {
			return err
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil // VACUUM will report it
}

// vacuumed returns an error if another transaction prevented VACUUM from removing the rows.
func (b *Bench) vacuumed(ctx context.Context, table string) error {
	var dead int
	if err := b.DB().QueryRowContext(ctx, "SELECT pg_stat_get_dead_tuples($1::regclass)", table).Scan(&dead); err != nil {
		return err
	}
	if dead > 0 {
		return engine.Unsupported("VACUUM could not remove %d of the deleted rows: a transaction on the server still sees "+
			"them", dead)
	}
	return nil
}

// timed returns the duration of f in ms.
func (b *Bench) timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return milliseconds(time.Since(start)), err
}

// purgeTimeout is how long InnoDB may take to remove deleted rows. Other transactions of the server may delay it.
const purgeTimeout = 30 * time.Second

// waitForPurge waits until InnoDB has removed deleted rows in the background. Its duration cannot be measured: the
// server reports how far it has read its undo log, not which rows its threads have removed.
func (b *Bench) waitForPurge(ctx context.Context, table string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, purgeTimeout, errPurge)
	defer cancel()
	end, _, _, err := b.purge(ctx)
	if err != nil {
		return engine.Unsupported("the user may not read the status of InnoDB (GRANT PROCESS): %w", err)
	}
	for {
		_, done, history, err := b.purge(ctx)
		if err != nil {
			return err
		}
		if done >= end || history == 0 {
			break
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	for last := int64(-1); ; { // until the threads have processed what was read
		pages, err := b.pagesInUse(ctx, table)
		if err != nil || pages == last {
			return err
		}
		last = pages
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

var errPurge = engine.Unsupported("InnoDB has not removed the deleted rows within %v; a transaction on the server may "+
	"still see them",
	purgeTimeout)

// purge returns the number of the next transaction, the transaction up to which InnoDB has purged, and the length of
// its history list.
func (b *Bench) purge(ctx context.Context) (next, done, history int64, err error) {
	var kind, name, text string
	if err := b.DB().QueryRowContext(ctx, "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &text); err != nil {
		return 0, 0, 0, err
	}
	for i, dst := range []*int64{&next, &done, &history} {
		found := purgeStatus[i].FindStringSubmatch(text)
		if found == nil {
			return 0, 0, 0, errors.New("the status of InnoDB has an unknown form")
		}
		if *dst, err = strconv.ParseInt(found[1], 10, 64); err != nil {
			return 0, 0, 0, fmt.Errorf("the status of InnoDB: %w", err)
		}
	}
	return next, done, history, nil
}

// purgeStatus matches the lines of the status that purge reads: https://mariadb.com/kb/en/show-engine-innodb-status/.
var purgeStatus = [3]*regexp.Regexp{
	regexp.MustCompile(`Trx id counter (\d+)`),
	regexp.MustCompile(`Purge done for trx's n:o < (\d+)`),
	regexp.MustCompile(`History list length (\d+)`),
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// pagesInUse counts the non-empty pages of the rows and the primary key; -1 if unknown. PostgreSQL's files do not
// shrink, so there it counts the pages of the key's index, without free pages.
func (b *Bench) pagesInUse(ctx context.Context, table string) (int64, error) {
	trees, err := b.Trees(ctx, table)
	if err != nil {
		return 0, err
	}
	switch b.Dialect() {
	case "postgres":
		return b.indexPages(ctx, trees)
	case "mariadb":
		return b.treePages(ctx, trees, "SELECT @@innodb_page_size")
	default:
		return b.treePages(ctx, trees, "PRAGMA page_size")
	}
}

func (b *Bench) treePages(ctx context.Context, trees []engine.Tree, pageSize string) (int64, error) {
	var size, total int64
	if err := b.DB().QueryRowContext(ctx, pageSize).Scan(&size); err != nil {
		return 0, err
	}
	for _, t := range trees {
		if t.Role != engine.Secondary {
			total += t.Bytes
		}
	}
	return total / size, nil
}

func (b *Bench) indexPages(ctx context.Context, trees []engine.Tree) (int64, error) {
	var schema string
	err := b.DB().QueryRowContext(ctx, `SELECT quote_ident(n.nspname) FROM pg_extension x
		JOIN pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'pgstattuple'`).Scan(&schema)
	if errors.Is(err, sql.ErrNoRows) {
		return -1, nil // the engine has a note about it
	}
	if err != nil {
		return 0, err
	}
	var total int64
	for _, t := range trees {
		if t.Role != engine.Primary {
			continue
		}
		var pages int64
		err := b.DB().QueryRowContext(ctx, `SELECT internal_pages + leaf_pages FROM `+schema+`.pgstatindex($1)`,
			t.Name).Scan(&pages)
		if err != nil {
			return 0, err
		}
		total += pages
	}
	return total, nil
}
