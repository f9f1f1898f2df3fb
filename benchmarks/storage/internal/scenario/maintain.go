package scenario

import (
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

var maintain = Scenario{
	Name:  "maintain",
	Title: "Rebuilding and backing up",
	Question: "What does a rebuild (REINDEX, OPTIMIZE TABLE, VACUUM) win, does it last, and how many bytes does a backup " +
		"take?",
	Cases: halfOfThem,
	Once:  true,
	Run:   runMaintain,
}

// runMaintain dumps and rebuilds a table, and adds a quarter more rows.
func runMaintain(ctx context.Context, b *Bench) (map[string]float64, error) {
	rows := b.Number("rows")
	in, err := b.fill(ctx, b.Table("maintain", account), rows, nil)
	if err != nil {
		return nil, err
	}
	table := in.Table.Name
	if err := b.Settle(ctx, table); err != nil {
		return nil, err
	}
	values := map[string]float64{}
	if err := b.Sizes(ctx, values, table, rows); err != nil {
		return nil, err
	}
	if b.Dialect() == "postgres" {
		var correlation sql.NullFloat64 // NULL for one row
		err := b.get(ctx, `SELECT correlation FROM pg_stats WHERE schemaname = current_schema AND tablename = $1
			AND attname = 'id'`, []any{table}, &correlation)
		if err != nil {
			return nil, err
		}
		if correlation.Valid {
			values["correlation"] = correlation.Float64
		}
	}
	if err := b.dumped(ctx, values, table, rows); err != nil {
		return nil, err
	}
	rebuild := map[string]string{
		"postgres": "REINDEX TABLE " + table, "sqlite": "VACUUM",
		"mariadb": "ALTER TABLE " + table + " FORCE", // which is what OPTIMIZE TABLE does
	}[b.Dialect()]
	if values["rebuild"], err = b.timed(func() error { return b.run(ctx, rebuild) }); err != nil {
		return nil, err
	}
	after := map[string]float64{}
	if err := b.Sizes(ctx, after, table, rows); err != nil {
		return nil, err
	}
	values["rebuilt_table"] = after["bytes_table"]
	if bytes, ok := after["bytes_primary"]; ok {
		values["rebuilt_primary"] = bytes
	}
	in.Rows = max(rows/4, 1)
	if err := b.Do(ctx, in); err != nil {
		return nil, err
	}
	if err := b.Sizes(ctx, after, table, rows+in.Rows); err != nil {
		return nil, err
	}
	values["rebuilt_later"] = after["bytes_table"]
	return values, nil
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// dumped adds the size of a dump as text, plain and compressed as by gzip -6. The rows are in the order in which pg_dump,
// mariadb-dump and SQLite's .dump write them: that of the heap, of the primary key, and of the rowid.
func (b *Bench) dumped(ctx context.Context, values map[string]float64, table string, rows int) error {
	var plain, small counter
	compressed, err := gzip.NewWriterLevel(&small, 6)
	if err != nil {
		return err
	}
	err = b.dump(ctx, csv.NewWriter(io.MultiWriter(&plain, compressed)), "SELECT id, name, amount, created_at FROM "+table+
		" ORDER BY "+map[string]string{"postgres": "ctid", "mariadb": "id", "sqlite": "rowid"}[b.Dialect()])
	if err := errors.Join(err, compressed.Close()); err != nil {
		return fmt.Errorf("dump %s: %w", table, err)
	}
	values["dump"], values["dump_gzip"] = float64(plain)/float64(rows), float64(small)/float64(rows)
	return nil
}

// dump writes rows as text, and bytes in hexadecimal as the programs do.
func (b *Bench) dump(ctx context.Context, to *csv.Writer, text string) error {
	rows, err := b.DB().QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns := make([]string, 1+len(account))
	for rows.Next() {
		if err := rows.Scan(&columns[0], &columns[1], &columns[2], &columns[3]); err != nil {
			return err
		}
		if b.Kind.Store == key.UUID && len(columns[0]) == 16 {
			columns[0] = hex.EncodeToString([]byte(columns[0]))
		}
		if err := to.Write(columns); err != nil {
			return err
		}
	}
	to.Flush()
	return errors.Join(to.Error(), rows.Err())
}
