package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// postgres is a schema of its own in a PostgreSQL database.
type postgres struct {
	served
	config    *pgx.ConnConfig // of the schema's sessions
	version   int             // in the form of server_version_num: 150004 is 15.4
	blockSize int64           // of a page

	dropped atomic.Int64 // how often tables were dropped, see refresh
}

func newPostgres(name, dsn string) (server, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		// Without the driver's message, which may repeat parts of the password.
		return nil, errors.New("PostgreSQL: the DSN is not understood; it looks like postgres://user:password@host:5432/database " +
			"or host=HOST user=USER dbname=DATABASE")
	}
	address := net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	if strings.HasPrefix(config.Host, "/") {
		address = config.Host
	}
	admin := config.Copy()
	e := &postgres{served: served{base: base{name: name, words: postgresWords}, place: newPlace()}, config: config}
	e.host = host{
		where: func() string {
			return fmt.Sprintf("PostgreSQL at %s, database %q, user %q", address, config.Database, config.User)
		},
		connect: func() (*sql.DB, error) { return stdlib.OpenDB(*admin), nil },
		quote:   doubleQuoted,
		what:    "schema",
		find: `SELECT n.nspname, coalesce(obj_description(n.oid, 'pg_namespace'), ''),
				(SELECT count(*) FROM pg_stat_activity WHERE application_name = n.nspname)
			FROM pg_namespace n WHERE n.nspname ~ $1 ORDER BY 1`,
		create:  "CREATE SCHEMA {place}",
		comment: "COMMENT ON SCHEMA {place} IS '{comment}'",
		kills:   "SELECT format('SELECT pg_terminate_backend(%s)', pid) FROM pg_stat_activity WHERE application_name = $1",
		drop:    "DROP SCHEMA IF EXISTS {place} CASCADE",
		grant: fmt.Sprintf("the database's owner can allow it with GRANT CREATE ON DATABASE %s TO %s",
			doubleQuoted(config.Database), doubleQuoted(config.User)),
	}
	return e, nil
}

func (e *postgres) open(ctx context.Context, durable bool) (err error) {
	if err := e.make(ctx); err != nil {
		return err
	}
	e.config.RuntimeParams["search_path"] = e.place
	e.config.RuntimeParams["application_name"] = e.place // by which Close finds running statements
	e.config.RuntimeParams["synchronous_commit"] = map[bool]string{true: "on", false: "off"}[durable]
	e.db = stdlib.OpenDB(*e.config, stdlib.OptionResetSession(e.refresh))
	e.db.SetMaxIdleConns(idleConns)
	var backend int
	err = e.db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('block_size')::int,
		pg_backend_pid()`).Scan(&e.version, &e.blockSize, &backend)
	if err != nil {
		return fmt.Errorf("%s: %w", e.host.where(), err)
	}
	if e.version < countersVersion {
		e.add("PostgreSQL before 15 does not report exact counts of full-page images, reads, hits and bytes written; " +
			"they are left out.")
	}
	e.observe("PostgreSQL", isLocal(e.config.Host), func() (int, error) { return postmaster(backend) }, familyCPU)
	return e.withStatTuple(ctx, func(string) error { return nil })
}

func isCode(err error, codes ...string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && slices.Contains(codes, pg.Code)
}

// refresh clears a connection's cache of statements after tables were dropped: the driver caches column types by
// statement, and a new table of the same name may have other types.
func (e *postgres) refresh(ctx context.Context, conn *pgx.Conn) error {
	const known = "sqlflake.dropped"
	data, now := conn.PgConn().CustomData(), e.dropped.Load()
	if before, _ := data[known].(int64); before == now {
		return nil
	}
	if err := conn.DeallocateAll(ctx); err != nil {
		return err
	}
	data[known] = now
	return nil
}

func (e *postgres) Dialect() string          { return "postgres" }
func (e *postgres) Placeholder(n int) string { return "$" + strconv.Itoa(n) }
func (e *postgres) Value(v any) any          { return v } // the driver sends [16]byte as uuid

func (e *postgres) Settings(ctx context.Context) ([]Setting, error) {
	return e.settings(ctx, "PostgreSQL ", "SHOW server_version", "SHOW ", "shared_buffers", "fsync", "synchronous_commit",
		"full_page_writes", "wal_level", "max_wal_size", "block_size", "data_checksums")
}

var postgresKeys = map[key.Store]string{key.Integer: "bigint", key.UUID: "uuid", key.Text: "text"}

// postgresWords turn autovacuum off for the tables, so that it does not run during a measurement. Text uses the
// database's collation, as in applications; an index with a collation other than C compares more slowly.
var postgresWords = words{
	quote: doubleQuoted,
	key: func(t Table) string {
		column := postgresKeys[t.Kind.Store]
		switch {
		case t.Kind.Default != "":
			column += " DEFAULT " + t.Kind.Default
		case t.Kind.Counted:
			column += " GENERATED BY DEFAULT AS IDENTITY"
		}
		column += " PRIMARY KEY"
		if t.Fill != 0 {
			column += fmt.Sprintf(" WITH (fillfactor=%d)", t.Fill)
		}
		return column
	},
	columns: map[Type]string{Bigint: "bigint", Name: "text", Moment: "timestamptz"},
	like:    func(t Table) string { return postgresKeys[t.Kind.Store] },
	after:   " WITH (autovacuum_enabled=false)",
}

func (e *postgres) Create(ctx context.Context, t Table) error {
	if e.version < t.Kind.Since*10_000 {
		return Unsupported("%s exists from PostgreSQL %d on, and this is %d", t.Kind.Default, t.Kind.Since, e.version/10_000)
	}
	return e.base.Create(ctx, t)
}

func (e *postgres) Drop(ctx context.Context, names ...string) error {
	defer e.dropped.Add(1)
	return e.base.Drop(ctx, names...)
}

// Bulk uses COPY in the binary format.
func (e *postgres) Bulk(ctx context.Context, conn *sql.Conn, table string, columns []string, rows [][]any) error {
	return conn.Raw(func(driver any) error {
		std, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the connection is of the driver %T, not of pgx", driver)
		}
		if err := e.refresh(ctx, std.Conn()); err != nil {
			return err
		}
		n, err := std.Conn().CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
		if err == nil && n != int64(len(rows)) {
			err = fmt.Errorf("%d of %d rows were copied", n, len(rows))
		}
		return err
	})
}

// Settle also sets hint bits and the visibility map; otherwise the first readers would.
func (e *postgres) Settle(ctx context.Context, tables ...string) error {
	for _, table := range tables {
		if _, err := e.db.ExecContext(ctx, "VACUUM (ANALYZE) "+doubleQuoted(table)); err != nil {
			return fmt.Errorf("vacuum %s: %w", table, err)
		}
	}
	_, err := e.db.ExecContext(ctx, "CHECKPOINT")
	if isCode(err, "42501") {
		e.add("The user may not run CHECKPOINT, so checkpoints may run during a measurement; GRANT pg_checkpoint allows it from " +
			"PostgreSQL 15 on.")
		return nil
	}
	return err
}
