package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// countersVersion is the first PostgreSQL version without a separate statistics collector, which reports late.
const countersVersion = 150000

// meanwhile are the codes of errors of any statement while another run creates or drops the extension, down to a row of
// the catalog that PostgreSQL does not find (XX000).
var meanwhile = []string{"42710", "23505", "3F000", "42883", "XX000"}

// statTuple returns the schema of the extension pgstattuple. If it is missing it is created in the engine's schema.
// https://www.postgresql.org/docs/current/pgstattuple.html.
func (e *postgres) statTuple(ctx context.Context) (schema string, err error) {
	err = e.db.QueryRowContext(ctx, `SELECT quote_ident(n.nspname) FROM pg_extension x
		JOIN pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'pgstattuple'`).Scan(&schema)
	if errors.Is(err, sql.ErrNoRows) {
		schema = doubleQuoted(e.place)
		_, err = e.db.ExecContext(ctx, "CREATE EXTENSION pgstattuple SCHEMA "+schema)
	}
	return schema, err
}

// withStatTuple calls f with the schema of the extension. Without the extension it adds a note.
func (e *postgres) withStatTuple(ctx context.Context, f func(schema string) error) (err error) {
	for range 5 { // the extension of another run disappears when that run closes
		var schema string
		if schema, err = e.statTuple(ctx); err == nil {
			err = f(schema)
		}
		if !isCode(err, meanwhile...) {
			break
		}
	}
	if refused(err) && ctx.Err() == nil {
		e.add("How full the pages of indexes are is not known: pgstattuple is not available (%s).", strings.TrimSpace(err.Error()))
		return nil
	}
	return err
}

// Trees returns the sizes of the main fork, without the free space map, the visibility map and TOAST.
func (e *postgres) Trees(ctx context.Context, table string) ([]Tree, error) {
	list, err := collect(ctx, e.db, func(t *Tree) []any { return []any{&t.Name, &t.Bytes, &t.Role} },
		`SELECT c.relname, pg_relation_size(c.oid, 'main'),
			CASE WHEN i.indexrelid IS NULL THEN 'rows' WHEN i.indisprimary THEN 'primary' ELSE 'secondary' END
		FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
		WHERE to_regclass($1) IN (c.oid, i.indrelid)
		ORDER BY i.indexrelid IS NOT NULL, i.indisprimary DESC, c.relname`, e.qualified(table))
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("no table %s", table)
	}
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Density, list[i].Fragmentation = -1, -1
	}
	return list, e.withStatTuple(ctx, func(schema string) error { return e.densities(ctx, schema, list) })
}

func (e *postgres) qualified(name string) string {
	return doubleQuoted(e.place) + "." + doubleQuoted(name)
}

// densities reads all pages. For indexes it sets the used share of the leaves, for the heap the share of live rows.
// Fragmentation is the share of leaves whose right neighbour is before them in the file.
func (e *postgres) densities(ctx context.Context, schema string, list []Tree) error {
	share := func(percent float64) float64 {
		if math.IsNaN(percent) { // no pages, or an index without leaves
			return -1
		}
		return percent / 100
	}
	for i := range list {
		query := "SELECT avg_leaf_density, leaf_fragmentation, internal_pages + leaf_pages FROM " + schema + ".pgstatindex($1::text)"
		if list[i].Role == Rows {
			query = "SELECT CASE WHEN table_len > 0 THEN tuple_percent ELSE 'NaN' END, 'NaN'::float8, 0 FROM " +
				schema + ".pgstattuple($1::text)"
		}
		var density, fragmentation float64
		err := e.db.QueryRowContext(ctx, query, e.qualified(list[i].Name)).Scan(&density, &fragmentation, &list[i].Pages)
		if err != nil {
			return err
		}
		list[i].Density, list[i].Fragmentation = share(density), share(fragmentation)
	}
	return nil
}

// Usage: the log is exact. Page counts are of the whole database; sessions report them when idle, so connections in use
// may not have reported yet. Pages are written long after their change, so Written measures the work only if Settle ran
// before the second call.
func (e *postgres) Usage(ctx context.Context) (Usage, error) {
	u := Usage{PageImages: -1, Written: -1, Reads: -1, Hits: -1, CPU: e.cpu()}
	if e.version >= countersVersion {
		if err := e.flushCounters(ctx); err != nil {
			return u, err
		}
		err := e.db.QueryRowContext(ctx, `SELECT (SELECT wal_fpi FROM pg_stat_wal), blks_read, blks_hit, `+e.written()+`
			FROM pg_stat_database WHERE datname = current_database()`).Scan(&u.PageImages, &u.Reads, &u.Hits, &u.Written)
		if err != nil {
			return u, fmt.Errorf("the counters of PostgreSQL: %w", err)
		}
	}
	err := e.db.QueryRowContext(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&u.Log)
	return u, err
}

// written is the SQL expression for the bytes that all processes have written to data files or added to them, passed to
// the kernel.
func (e *postgres) written() string {
	size := strconv.FormatInt(e.blockSize, 10)
	switch {
	case e.version >= 180000:
		return `(SELECT coalesce(sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)), 0)::bigint
			FROM pg_stat_io WHERE object = 'relation')`
	case e.version >= 160000:
		return `(SELECT coalesce(sum(coalesce(writes, 0) + coalesce(extends, 0)), 0)::bigint * ` + size + `
			FROM pg_stat_io WHERE object = 'relation')`
	default:
		return "(SELECT (buffers_checkpoint + buffers_clean + buffers_backend) * " + size + " FROM pg_stat_bgwriter)"
	}
}

// flushCounters makes the idle connections of the pool report their counts, which they would do up to ten seconds
// later.
func (e *postgres) flushCounters(ctx context.Context) error {
	var conns []*sql.Conn
	defer func() {
		for _, conn := range conns {
			_ = conn.Close() // back to the pool
		}
	}()
	for range max(e.db.Stats().Idle, 1) { // all at once, otherwise the pool returns the same connection again
		conn, err := e.db.Conn(ctx)
		if err != nil {
			return err
		}
		conns = append(conns, conn)
		if _, err := conn.ExecContext(ctx, "SELECT pg_stat_force_next_flush()"); err != nil {
			return err
		}
	}
	return nil
}
