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

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// mariadb is a database of its own on a MariaDB or MySQL server. Tables use InnoDB.
type mariadb struct {
	notes
	db       *sql.DB
	config   *mysql.Config // without a database
	name     string
	made     bool   // the database was created, or creating it was tried
	version  string // as reported by the server
	pageSize int64
	local    bool // LOAD DATA LOCAL is allowed
	server   int  // its process ID; 0 if it cannot be observed
}

func newMariaDB(c Config) (*mariadb, error) {
	config, err := mysql.ParseDSN(c.MariaDB)
	if err != nil {
		return nil, &badDSN{"MariaDB: the DSN is not understood; it looks like user:password@tcp(host:3306)/", err}
	}
	config.DBName = "" // it may not exist
	config.Logger = &mysql.NopLogger{}
	if config.Timeout == 0 {
		config.Timeout = connectTimeout
	}
	return &mariadb{config: config, name: newPlace()}, nil
}

func openMariaDB(ctx context.Context, c Config) (Engine, error) {
	e, err := newMariaDB(c)
	if err != nil {
		return nil, err
	}
	if err := e.open(ctx, c.Durable); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *mariadb) where() string {
	return fmt.Sprintf("%s at %s, user %q", e.product(), e.config.Addr, e.config.User)
}

func (e *mariadb) pool(name string) (*sql.DB, error) {
	config := e.config.Clone()
	config.DBName = name
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func (e *mariadb) open(ctx context.Context, durable bool) error {
	if err := e.makeDatabase(ctx); err != nil {
		return err
	}
	var err error
	if e.db, err = e.pool(e.name); err != nil {
		return fmt.Errorf("%s: %w", e.where(), err)
	}
	e.db.SetMaxIdleConns(idleConns)
	var pidFile string
	err = e.db.QueryRowContext(ctx, "SELECT VERSION(), @@innodb_page_size, @@local_infile, @@pid_file").
		Scan(&e.version, &e.pageSize, &e.local, &pidFile)
	if err != nil {
		return fmt.Errorf("%s: %w", e.where(), err)
	}
	e.findServer(pidFile)
	if !durable {
		values, err := e.variables(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", e.where(), err)
		}
		e.add("%s has no way to commit without a flush for one session, and the server's settings are left as they are: "+
			"innodb_flush_log_at_trx_commit=%s, sync_binlog=%s, log_bin=%s.",
			e.product(), values["innodb_flush_log_at_trx_commit"], values["sync_binlog"], values["log_bin"])
	}
	return nil
}

func (e *mariadb) makeDatabase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	admin, err := e.pool("")
	if err != nil {
		return fmt.Errorf("%s: %w", e.where(), err)
	}
	defer admin.Close()
	if err := admin.PingContext(ctx); err != nil {
		return fmt.Errorf("%s cannot be reached; start it or correct the DSN: %w", e.where(), err)
	}
	rows, err := admin.QueryContext(ctx,
		"SELECT schema_name FROM information_schema.schemata WHERE schema_name REGEXP ? ORDER BY 1", placePattern)
	if err != nil {
		return fmt.Errorf("%s: %w", e.where(), err)
	}
	defer rows.Close()
	var others []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		others = append(others, backQuoted(name))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	e.leftovers("databases", others, "DROP DATABASE %s")
	e.made = true
	_, err = admin.ExecContext(ctx, "CREATE DATABASE "+backQuoted(e.name)+" CHARACTER SET utf8mb4")
	if isNumber(err, 1044, 1227) { // access denied to the database, or a missing privilege
		return fmt.Errorf("%s: the user may not create a database; "+
			"an administrator can allow it with GRANT ALL ON `%s%%`.* TO the user: %w",
			e.where(), strings.ReplaceAll(placePrefix, "_", `\_`), err)
	}
	if err != nil {
		return fmt.Errorf("%s: create a database: %w", e.where(), err)
	}
	// A comment of a table, because MySQL has no comments of databases.
	comment := strings.NewReplacer("'", "''", `\`, `\\`).Replace(ownComment())
	_, err = admin.ExecContext(ctx, fmt.Sprintf("CREATE TABLE %s.%s (id INT PRIMARY KEY) ENGINE=InnoDB COMMENT='%s'",
		backQuoted(e.name), OwnerTable, comment))
	if err != nil {
		return fmt.Errorf("%s: create a table: %w", e.where(), err)
	}
	return nil
}

// OwnerTable is a table in each database of the tool. Its comment names the process.
const OwnerTable = "sqlflake_owner"

func isNumber(err error, numbers ...uint16) bool {
	var my *mysql.MySQLError
	return errors.As(err, &my) && slices.Contains(numbers, my.Number)
}

// denied reports whether a statement failed because of missing rights.
func denied(err error) bool { return isNumber(err, 1044, 1045, 1142, 1143, 1227) }

func (e *mariadb) Name() string           { return "mariadb" }
func (e *mariadb) Dialect() string        { return "mariadb" }
func (e *mariadb) DB() *sql.DB            { return e.db }
func (e *mariadb) Placeholder(int) string { return "?" }

func (e *mariadb) Value(v any) any {
	if id, ok := v.([16]byte); ok {
		return id[:]
	}
	return v
}

// mariadbSettings are the variables that Settings returns, in its order.
var mariadbSettings = []string{
	"innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "innodb_flush_method",
	"innodb_page_size", "sync_binlog", "log_bin", "innodb_doublewrite",
}

func (e *mariadb) variables(ctx context.Context) (map[string]string, error) {
	return e.pairs(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('"+strings.Join(mariadbSettings, "', '")+"')")
}

// pairs returns the result of a query for names and values.
func (e *mariadb) pairs(ctx context.Context, query string) (map[string]string, error) {
	rows, err := e.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	pairs := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		pairs[name] = value
	}
	return pairs, rows.Err()
}

func (e *mariadb) Settings(ctx context.Context) ([]Setting, error) {
	values, err := e.variables(ctx)
	if err != nil {
		return nil, err
	}
	version := e.version
	if e.product() == "MySQL" {
		version = "MySQL " + version
	}
	settings := []Setting{{"version", version}}
	for _, name := range mariadbSettings {
		if value, ok := values[name]; ok {
			settings = append(settings, Setting{name, value})
		}
	}
	return settings, nil
}

// words disables automatic statistics: Settle and Trees collect them, outside of measurements.
func (e *mariadb) words(length int) words {
	keyTypes := map[key.Store]string{
		key.Integer: "BIGINT", key.UUID: "BINARY(16)",
		key.Text: fmt.Sprintf("CHAR(%d) CHARACTER SET ascii", length),
	}
	return words{
		quote: backQuoted,
		key: func(t Table) string {
			column := keyTypes[t.Kind.Store] + " NOT NULL"
			if t.Kind.Counted {
				column += " AUTO_INCREMENT"
			}
			return column + " PRIMARY KEY"
		},
		columns: map[Type]string{Bigint: "BIGINT", Name: "VARCHAR(255)", Moment: "DATETIME(6)"},
		like:    func(t Table) string { return keyTypes[t.Kind.Store] },
		after:   " ENGINE=InnoDB STATS_PERSISTENT=1 STATS_AUTO_RECALC=0",
	}
}

// textLength returns the length of the keys of a kind: 36 characters for UUIDs, 26 for ULIDs.
func textLength(k key.Kind) (int, error) {
	source, err := k.New(key.Config{Clients: 1})
	if err != nil || source == nil {
		return 0, err
	}
	var one [1]any
	if err := source.Draw(one[:]); err != nil {
		return 0, err
	}
	text, ok := one[0].(string)
	if !ok {
		return 0, fmt.Errorf("the keys of %s are %T, not text", k.Name, one[0])
	}
	return len(text), nil
}

func (e *mariadb) Create(ctx context.Context, t Table) error {
	length := 0
	if t.Kind.Store == key.Text {
		var err error
		if length, err = textLength(t.Kind); err != nil {
			return err
		}
	}
	for _, statement := range e.words(length).statements(t) {
		if _, err := e.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (e *mariadb) Drop(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := e.db.ExecContext(ctx, "DROP TABLE IF EXISTS "+backQuoted(name)); err != nil {
			return fmt.Errorf("drop table %s: %w", name, err)
		}
	}
	return nil
}

// Settle writes the dirty pages of the tables with FLUSH TABLES ... FOR EXPORT, the only way that does not change the
// server's settings.
func (e *mariadb) Settle(ctx context.Context, tables ...string) (err error) {
	if len(tables) == 0 {
		return nil
	}
	quoted := make([]string, len(tables))
	for i, table := range tables {
		quoted[i] = backQuoted(table)
		if err := e.analyze(ctx, table); err != nil {
			return err
		}
	}
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	_, err = conn.ExecContext(ctx, "FLUSH TABLES "+strings.Join(quoted, ", ")+" FOR EXPORT")
	if denied(err) {
		e.add("The user may not run FLUSH TABLES ... FOR EXPORT (GRANT RELOAD), so pages may be written during a measurement.")
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the pages of %s: %w", strings.Join(tables, ", "), err)
	}
	_, err = conn.ExecContext(context.WithoutCancel(ctx), "UNLOCK TABLES") // otherwise the connection would return to the pool locked
	return err
}

func (e *mariadb) analyze(ctx context.Context, table string) error {
	rows, err := e.db.QueryContext(ctx, "ANALYZE NO_WRITE_TO_BINLOG TABLE "+backQuoted(table))
	if err != nil {
		return fmt.Errorf("analyze %s: %w", table, err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, operation, kind, text string
		if err := rows.Scan(&name, &operation, &kind, &text); err != nil {
			return err
		}
		if strings.EqualFold(kind, "error") {
			return fmt.Errorf("analyze %s: %s", table, text)
		}
	}
	return rows.Err()
}

// Close also ends connections that still use the database, because they may hold locks.
func (e *mariadb) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var errs []error
	if e.db != nil {
		errs = append(errs, e.db.Close())
	}
	if e.made {
		if err := e.dropDatabase(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: the database was not dropped; drop it with DROP DATABASE IF EXISTS %s: %w",
				e.where(), backQuoted(e.name), err))
		}
	}
	return errors.Join(errs...)
}

func (e *mariadb) dropDatabase(ctx context.Context) error {
	admin, err := e.pool("")
	if err != nil {
		return err
	}
	defer admin.Close()
	rows, err := admin.QueryContext(ctx, "SELECT id FROM information_schema.processlist WHERE db = ?", e.name)
	if err != nil {
		return err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range ids {
		const gone = 1094
		if _, err := admin.ExecContext(ctx, "KILL "+strconv.FormatInt(id, 10)); err != nil && !isNumber(err, gone) {
			return err
		}
	}
	_, err = admin.ExecContext(ctx, "DROP DATABASE IF EXISTS "+backQuoted(e.name))
	if denied(err) { // reported when creating it failed
		var n int
		query := "SELECT count(*) FROM information_schema.schemata WHERE schema_name = ?"
		if admin.QueryRowContext(ctx, query, e.name).Scan(&n) == nil && n == 0 {
			return nil
		}
	}
	return err
}

// findServer finds the server's process.
func (e *mariadb) findServer(pidFile string) {
	host, _, err := net.SplitHostPort(e.config.Addr)
	if e.config.Net != "unix" && (err != nil || !isLocal(host)) {
		e.add("%s's CPU time is not known: it runs on another machine.", e.product())
		return
	}
	pid, err := serverProcess(pidFile)
	if err == nil {
		_, err = processCPU(pid)
	}
	if err != nil {
		e.add("%s's CPU time is not known: %v.", e.product(), err)
		return
	}
	e.server = pid
}
