package scenario

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

var maintain = Scenario{
	Name:  "maintain",
	Title: "Rebuilding and backing up",
	Question: "What does a rebuild (REINDEX, OPTIMIZE TABLE, VACUUM) win, does it last, and how many bytes does a backup " +
		"take?",
	Kinds: []string{"auto", "snowflake", "uuidv7", "uuidv4"},
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		return []measure.Params{measure.P("rows", half(o.Rows))}
	},
	Once: true,
	Run:  runMaintain,
}

// runMaintain dumps and rebuilds a table, and adds a quarter more rows.
func runMaintain(ctx context.Context, b *Bench) (map[string]float64, error) {
	table := b.Table("maintain", account)
	source, err := b.Kind.New(b.keys())
	if err != nil {
		return nil, err
	}
	if err := b.Create(ctx, table); err != nil {
		return nil, err
	}
	rows := b.Number("rows")
	in := Insert{Table: table, Rows: rows, Batch: 1000, Fill: fillAccount, Source: source}
	if err := b.Do(ctx, in); err != nil {
		return nil, err
	}
	if err := b.Settle(ctx, table.Name); err != nil {
		return nil, err
	}
	values := map[string]float64{}
	if err := b.Sizes(ctx, values, table.Name, rows); err != nil {
		return nil, err
	}
	if b.Dialect() == "postgres" {
		var correlation float64
		err := b.DB().QueryRowContext(ctx, `SELECT correlation FROM pg_stats
			WHERE schemaname = current_schema AND tablename = $1 AND attname = 'id'`, table.Name).Scan(&correlation)
		if err != nil {
			return nil, fmt.Errorf("the correlation of %s: %w", table.Name, err)
		}
		values["correlation"] = correlation
	}
	if err := b.dumped(ctx, values, table.Name, rows); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := b.rebuild(ctx, table.Name); err != nil {
		return nil, err
	}
	values["rebuild"] = milliseconds(time.Since(start))
	after := map[string]float64{}
	if err := b.Sizes(ctx, after, table.Name, rows); err != nil {
		return nil, err
	}
	values["rebuilt_table"] = after["bytes_table"]
	if bytes, ok := after["bytes_primary"]; ok {
		values["rebuilt_primary"] = bytes
	}
	in.First, in.Rows = rows, max(rows/4, 1)
	if err := b.Do(ctx, in); err != nil {
		return nil, err
	}
	if err := b.Sizes(ctx, after, table.Name, rows+in.Rows); err != nil {
		return nil, err
	}
	values["rebuilt_later"] = after["bytes_table"]
	return values, nil
}

// rebuild writes the indexes again. In MariaDB and SQLite the rows are in one of them, or are written too.
func (b *Bench) rebuild(ctx context.Context, table string) error {
	switch b.Dialect() {
	case "postgres":
		_, err := b.DB().ExecContext(ctx, "REINDEX TABLE "+table)
		return err
	case "sqlite":
		_, err := b.DB().ExecContext(ctx, "VACUUM")
		return err
	}
	rows, err := b.DB().QueryContext(ctx, "OPTIMIZE NO_WRITE_TO_BINLOG TABLE "+table)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, operation, kind, text string
		if err := rows.Scan(&name, &operation, &kind, &text); err != nil {
			return err
		}
		if strings.EqualFold(kind, "error") {
			return errors.New("optimize " + name + ": " + text)
		}
	}
	return rows.Err()
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
	dump := b.csv
	if b.Dialect() == "postgres" {
		dump = b.copyOut
	}
	if err := dump(ctx, io.MultiWriter(&plain, compressed), table); err != nil {
		return fmt.Errorf("dump %s: %w", table, err)
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	values["dump"], values["dump_gzip"] = float64(plain)/float64(rows), float64(small)/float64(rows)
	return nil
}

func (b *Bench) copyOut(ctx context.Context, to io.Writer, table string) error {
	return b.pgx(ctx, func(conn *pgx.Conn) error {
		_, err := conn.PgConn().CopyTo(ctx, to, "COPY "+table+" TO STDOUT")
		return err
	})
}

// pgx calls f with a connection of PostgreSQL's driver.
func (b *Bench) pgx(ctx context.Context, f func(conn *pgx.Conn) error) error {
	conn, err := b.DB().Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return conn.Raw(func(driver any) error {
		std, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the connection is of the driver %T, not of pgx", driver)
		}
		return f(std.Conn())
	})
}

// csv writes bytes in hexadecimal, as the programs do.
func (b *Bench) csv(ctx context.Context, to io.Writer, table string) error {
	order := map[string]string{"mariadb": " ORDER BY id", "sqlite": " ORDER BY rowid"}[b.Dialect()]
	rows, err := b.DB().QueryContext(ctx, "SELECT id, name, amount, created_at FROM "+table+order)
	if err != nil {
		return err
	}
	defer rows.Close()
	w := csv.NewWriter(to)
	for rows.Next() {
		var id any
		var rest [3]string
		if err := rows.Scan(&id, &rest[0], &rest[1], &rest[2]); err != nil {
			return err
		}
		text := fmt.Sprint(id)
		if raw, ok := id.([]byte); ok {
			if text = string(raw); len(raw) == 16 {
				text = hex.EncodeToString(raw)
			}
		}
		if err := w.Write(append([]string{text}, rest[:]...)); err != nil {
			return err
		}
	}
	w.Flush()
	return errors.Join(w.Error(), rows.Err())
}
