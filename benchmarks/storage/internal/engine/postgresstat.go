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

// When another run creates or drops the extension at the same time, any statement can fail: PostgreSQL does not find a
// row of its catalog (internal_error).
const (
	goneMeanwhile = "XX000"
	tries         = 5
)

// statTuple returns the schema of the extension pgstattuple. If it is missing it is created in the engine's schema; the
// result is empty if that fails. https://www.postgresql.org/docs/current/pgstattuple.html.
func (e *postgres) statTuple(ctx context.Context) (string, error) {
	for range tries { // another run may create or drop it at the same time
		var schema string
		err := e.db.QueryRowContext(ctx, `SELECT quote_ident(n.nspname) FROM pg_extension x
			JOIN pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'pgstattuple'`).Scan(&schema)
		if isCode(err, goneMeanwhile) {
			continue
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return schema, err
		}
		_, err = e.db.ExecContext(ctx, "CREATE EXTENSION pgstattuple SCHEMA "+doubleQuoted(e.schema))
		// If another session has created it meanwhile, the error is a duplicate name or catalog row.
		if err != nil && !isCode(err, "42710", "23505", goneMeanwhile) {
			if isServerError(err) {
				e.noDensity(err)
				return "", nil
			}
			return "", err
		}
	}
	return "", nil
}

func (e *postgres) noDensity(err error) {
	e.add("How full the pages of indexes are is not known: pgstattuple is not available (%s).", strings.TrimSpace(err.Error()))
}

func isServerError(err error) bool {
	var coded interface{ SQLState() string } // *pgconn.PgError
	return errors.As(err, &coded)
}

// Trees returns the sizes of the main fork, without the free space map, the visibility map and TOAST.
func (e *postgres) Trees(ctx context.Context, table string) ([]Tree, error) {
	list, err := e.relations(ctx, table)
	if err != nil {
		return nil, err
	}
	for range tries { // the extension of another run disappears when that run closes
		if err = e.densities(ctx, list); !isCode(err, "3F000", "42883", goneMeanwhile) {
			break
		}
	}
	if isServerError(err) && ctx.Err() == nil {
		e.noDensity(err)
		err = nil
	}
	trees := make([]Tree, len(list))
	for i, r := range list {
		trees[i] = r.Tree
	}
	return trees, err
}

type relation struct {
	Tree
	oid uint32
}

func (e *postgres) relations(ctx context.Context, table string) ([]relation, error) {
	list, err := collect(ctx, e.db, func(r *relation) []any { return []any{&r.oid, &r.Name, &r.Bytes, &r.Role} },
		`SELECT c.oid, c.relname, pg_relation_size(c.oid, 'main'),
			CASE WHEN i.indexrelid IS NULL THEN 'rows' WHEN i.indisprimary THEN 'primary' ELSE 'secondary' END
		FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
		WHERE to_regclass($1) IN (c.oid, i.indrelid)
		ORDER BY i.indexrelid IS NOT NULL, i.indisprimary DESC, c.relname`, doubleQuoted(e.schema)+"."+doubleQuoted(table))
	for i := range list {
		list[i].Density, list[i].Fragmentation = -1, -1
	}
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("no table %s", table)
	}
	return list, err
}

// densities reads all pages. For indexes it returns the used share of the leaves, for the heap the share of live rows.
// Fragmentation is the share of leaves whose right neighbour is before them in the file.
func (e *postgres) densities(ctx context.Context, list []relation) error {
	schema, err := e.statTuple(ctx)
	if err != nil || schema == "" {
		return err
	}
	for i := range list {
		r := &list[i]
		if r.Role == Rows {
			var percent float64
			query := "SELECT tuple_percent FROM " + schema + ".pgstattuple($1::oid::regclass)"
			if err := e.db.QueryRowContext(ctx, query, r.oid).Scan(&percent); err != nil {
				return err
			}
			if r.Bytes > 0 {
				r.Density = percent / 100
			}
			continue
		}
		var density, fragmentation float64
		query := "SELECT avg_leaf_density, leaf_fragmentation, internal_pages + leaf_pages FROM " + schema +
			".pgstatindex($1::oid::regclass)"
		if err := e.db.QueryRowContext(ctx, query, r.oid).Scan(&density, &fragmentation, &r.Pages); err != nil {
			return err
		}
		if !math.IsNaN(density) { // NaN for an index without leaves
			r.Density, r.Fragmentation = density/100, fragmentation/100
		}
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

// postmaster returns the parent of the process that serves a connection.
func postmaster(backend int) (int, error) {
	// The number could be that of another process if the server is in a container.
	child, err := readProcess(backend)
	if err == nil && child.name == "postgres" {
		if parent, err := readProcess(child.parent); err == nil && parent.name == "postgres" {
			return parent.pid, nil
		}
	}
	return 0, errors.New("its processes are not visible from here")
}
