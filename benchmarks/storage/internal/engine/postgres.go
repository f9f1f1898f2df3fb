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
	notes
	name       string // one of Names
	db         *sql.DB
	config     *pgx.ConnConfig
	schema     string
	made       bool  // the schema was created, or creating it was tried
	version    int   // in the form of server_version_num: 150004 is 15.4
	blockSize  int64 // of a page
	postmaster int   // ID of the server's first process; 0 if it cannot be observed

	dropped atomic.Int64 // how often tables were dropped, see refresh
}

const postgresForm = "PostgreSQL: the DSN is not understood; it looks like postgres://user:password@host:5432/database " +
	"or host=... user=... dbname=..."

func openPostgres(ctx context.Context, name, dsn string, durable bool) (Engine, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, &badDSN{postgresForm, err}
	}
	e := &postgres{name: name, config: config, schema: newPlace()}
	if err := e.open(ctx, durable); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *postgres) where() string {
	address := net.JoinHostPort(e.config.Host, strconv.Itoa(int(e.config.Port)))
	if strings.HasPrefix(e.config.Host, "/") {
		address = e.config.Host
	}
	return fmt.Sprintf("PostgreSQL at %s, database %q, user %q", address, e.config.Database, e.config.User)
}

func (e *postgres) open(ctx context.Context, durable bool) error {
	if err := e.makeSchema(ctx); err != nil {
		return err
	}
	config := e.config.Copy()
	config.RuntimeParams["search_path"] = e.schema
	config.RuntimeParams["application_name"] = e.schema // by which Close finds running statements
	if !durable {
		config.RuntimeParams["synchronous_commit"] = "off"
	}
	e.db = stdlib.OpenDB(*config, stdlib.OptionResetSession(e.refresh))
	e.db.SetMaxIdleConns(idleConns)
	var backend int
	err := e.db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('block_size')::int,
		pg_backend_pid()`).Scan(&e.version, &e.blockSize, &backend)
	if err != nil {
		return fmt.Errorf("%s: %w", e.where(), err)
	}
	if e.version < countersVersion {
		e.add("PostgreSQL before 15 does not report exact counts of full-page images, reads, hits and bytes written; " +
			"they are left out.")
	}
	e.findPostmaster(backend)
	_, err = e.statTuple(ctx)
	return err
}

func (e *postgres) makeSchema(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	admin, err := pgx.ConnectConfig(ctx, e.config)
	if err != nil {
		return fmt.Errorf("%s cannot be reached; start it or correct the DSN: %w", e.where(), err)
	}
	defer closeConn(admin)
	others, err := names(ctx, admin, "SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname ~ $1 ORDER BY 1",
		placePattern)
	if err != nil {
		return fmt.Errorf("%s: %w", e.where(), err)
	}
	e.leftovers("schemas", others, "DROP SCHEMA %s CASCADE")
	e.made = true
	_, err = admin.Exec(ctx, "CREATE SCHEMA "+doubleQuoted(e.schema))
	if isCode(err, "42501") { // insufficient_privilege
		return fmt.Errorf("%s: the user may not create a schema; "+
			"the database's owner can allow it with GRANT CREATE ON DATABASE %s TO %s: %w",
			e.where(), doubleQuoted(e.config.Database), doubleQuoted(e.config.User), err)
	}
	if err != nil {
		return fmt.Errorf("%s: create a schema: %w", e.where(), err)
	}
	_, err = admin.Exec(ctx, fmt.Sprintf("COMMENT ON SCHEMA %s IS '%s'",
		doubleQuoted(e.schema), strings.ReplaceAll(ownComment(), "'", "''")))
	return err
}

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	_ = conn.Close(ctx) // nothing else uses it
}

func names(ctx context.Context, conn *pgx.Conn, query string, args ...any) ([]string, error) {
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
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

func (e *postgres) Name() string             { return e.name }
func (e *postgres) Dialect() string          { return "postgres" }
func (e *postgres) DB() *sql.DB              { return e.db }
func (e *postgres) Placeholder(n int) string { return "$" + strconv.Itoa(n) }
func (e *postgres) Value(v any) any          { return v } // the driver sends [16]byte as uuid
func (e *postgres) Returning() bool          { return true }

func (e *postgres) Settings(ctx context.Context) ([]Setting, error) {
	var settings []Setting
	for _, name := range []string{
		"server_version", "shared_buffers", "fsync", "synchronous_commit", "full_page_writes",
		"wal_level", "max_wal_size", "block_size", "data_checksums",
	} {
		var value string
		if err := e.db.QueryRowContext(ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
			return nil, err
		}
		if name == "server_version" {
			name, value = "version", "PostgreSQL "+value
		}
		settings = append(settings, Setting{name, value})
	}
	return settings, nil
}

// words turns autovacuum off for the tables, so that it does not run during a measurement. Text uses the database's
// collation, as in applications; an index with a collation other than C compares more slowly.
func (e *postgres) words() words {
	keyTypes := map[key.Store]string{key.Integer: "bigint", key.UUID: "uuid", key.Text: "text"}
	return words{
		quote: doubleQuoted,
		key: func(t Table) string {
			column := keyTypes[t.Kind.Store]
			if t.Kind.Counted {
				column += " GENERATED BY DEFAULT AS IDENTITY"
			}
			column += " PRIMARY KEY"
			if t.Fill != 0 {
				column += fmt.Sprintf(" WITH (fillfactor=%d)", t.Fill)
			}
			return column
		},
		columns: map[Type]string{Bigint: "bigint", Name: "text", Moment: "timestamptz"},
		like:    func(t Table) string { return keyTypes[t.Kind.Store] },
		after:   " WITH (autovacuum_enabled=false)",
	}
}

func (e *postgres) Create(ctx context.Context, t Table) error {
	for _, statement := range e.words().statements(t) {
		if _, err := e.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (e *postgres) Drop(ctx context.Context, names ...string) error {
	defer e.dropped.Add(1)
	for _, name := range names {
		if _, err := e.db.ExecContext(ctx, "DROP TABLE IF EXISTS "+doubleQuoted(name)); err != nil {
			return fmt.Errorf("drop table %s: %w", name, err)
		}
	}
	return nil
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

// Close also ends running statements of its connections, because they may hold locks.
func (e *postgres) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var err error
	if e.db != nil {
		err = e.db.Close()
	}
	return errors.Join(err, e.dropSchema(ctx))
}

func (e *postgres) dropSchema(ctx context.Context) error {
	if !e.made {
		return nil
	}
	admin, err := pgx.ConnectConfig(ctx, e.config)
	if err != nil {
		return e.left(err)
	}
	defer closeConn(admin)
	_, err = admin.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", e.schema)
	if err != nil {
		return e.left(err)
	}
	if _, err := admin.Exec(ctx, "DROP SCHEMA IF EXISTS "+doubleQuoted(e.schema)+" CASCADE"); err != nil {
		return e.left(err)
	}
	return nil
}

func (e *postgres) left(err error) error {
	return fmt.Errorf("%s: the schema was not dropped; drop it with DROP SCHEMA IF EXISTS %s CASCADE: %w",
		e.where(), doubleQuoted(e.schema), err)
}
