package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// mariadb is a database of its own on a MariaDB or MySQL server. Tables use InnoDB.
type mariadb struct {
	served
	config   *mysql.Config // without a database
	version  string        // as reported by the server
	pageSize int64
	local    bool // LOAD DATA LOCAL is allowed
}

// OwnerTable is a table in each database of the tool. Its comment names the process, because MySQL has no comments of
// databases.
const OwnerTable = "sqlflake_owner"

func newMariaDB(dsn string) (server, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		// Without the driver's message, which may repeat parts of the password.
		return nil, errors.New("MariaDB: the DSN is not understood; it looks like user:password@tcp(host:3306)/")
	}
	config.DBName = "" // it may not exist
	config.Logger = &mysql.NopLogger{}
	e := &mariadb{served: served{base: base{name: "mariadb", words: mariadbWords}, place: newPlace()}, config: config}
	e.host = host{
		where:   func() string { return fmt.Sprintf("%s at %s, user %q", e.product(), config.Addr, config.User) },
		connect: func() (*sql.DB, error) { return e.pool("") },
		quote:   backQuoted,
		what:    "database",
		find: `SELECT s.schema_name, COALESCE(t.table_comment, ''),
				(SELECT COUNT(*) FROM information_schema.processlist p WHERE p.db = s.schema_name)
			FROM information_schema.schemata s LEFT JOIN information_schema.tables t
				ON t.table_schema = s.schema_name AND t.table_name = '` + OwnerTable + `'
			WHERE s.schema_name REGEXP ? ORDER BY 1`,
		create:  "CREATE DATABASE {place} CHARACTER SET utf8mb4",
		comment: "CREATE TABLE {place}." + OwnerTable + " (id INT PRIMARY KEY) ENGINE=InnoDB COMMENT='{comment}'",
		kills:   "SELECT CONCAT('KILL ', id) FROM information_schema.processlist WHERE db = ?",
		drop:    "DROP DATABASE IF EXISTS {place}",
		grant: "an administrator can allow it with GRANT ALL ON `" + strings.ReplaceAll(placePrefix, "_", `\_`) +
			"%`.* TO the user",
	}
	return e, nil
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

func (e *mariadb) open(ctx context.Context, durable bool) (err error) {
	if err := e.make(ctx); err != nil {
		return err
	}
	if e.db, err = e.pool(e.place); err != nil {
		return fmt.Errorf("%s: %w", e.host.where(), err)
	}
	e.db.SetMaxIdleConns(idleConns)
	var pidFile, flush, sync, binlog string
	err = e.db.QueryRowContext(ctx, `SELECT VERSION(), @@innodb_page_size, @@local_infile, @@pid_file,
		@@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.sync_binlog, @@GLOBAL.log_bin`).
		Scan(&e.version, &e.pageSize, &e.local, &pidFile, &flush, &sync, &binlog)
	if err != nil {
		return fmt.Errorf("%s: %w", e.host.where(), err)
	}
	host, _, err := net.SplitHostPort(e.config.Addr)
	local := e.config.Net == "unix" || err == nil && isLocal(host)
	e.observe(e.product(), local, func() (int, error) { return serverProcess(pidFile) }, processCPU)
	if !durable {
		e.add("%s has no way to commit without a flush for one session, and the server's settings are left as they are: "+
			"innodb_flush_log_at_trx_commit=%s, sync_binlog=%s, log_bin=%s.", e.product(), flush, sync, binlog)
	}
	return nil
}

func isNumber(err error, numbers ...uint16) bool {
	var my *mysql.MySQLError
	return errors.As(err, &my) && slices.Contains(numbers, my.Number)
}

// denied reports whether a statement failed because of missing rights.
func denied(err error) bool {
	return isNumber(err, 1044, 1045, 1142, 1143, 1227) || isCode(err, "42501") // insufficient_privilege
}

func (e *mariadb) Dialect() string        { return "mariadb" }
func (e *mariadb) Placeholder(int) string { return "?" }
func (e *mariadb) Value(v any) any        { return asBytes(v) }

// product names the server, as far as it is known.
func (e *mariadb) product() string {
	switch {
	case e.version == "":
		return "MariaDB or MySQL"
	case strings.Contains(e.version, "MariaDB"):
		return "MariaDB"
	}
	return "MySQL"
}

// Returning: MariaDB since 10.5, MySQL never. https://mariadb.com/kb/en/insertreturning/.
func (e *mariadb) Returning() bool {
	var major, minor int
	// Old clients had to be told version 5.
	_, err := fmt.Sscanf(strings.TrimPrefix(e.version, "5.5.5-"), "%d.%d", &major, &minor)
	return err == nil && e.product() == "MariaDB" && (major > 10 || major == 10 && minor >= 5)
}

func (e *mariadb) Settings(ctx context.Context) ([]Setting, error) {
	product := "" // MariaDB's version contains its name
	if e.product() == "MySQL" {
		product = "MySQL "
	}
	return e.settings(ctx, product, "SELECT VERSION()", "SELECT @@GLOBAL.", "innodb_buffer_pool_size",
		"innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_page_size", "sync_binlog", "log_bin",
		"innodb_doublewrite")
}

func mariadbKey(t Table) string {
	switch t.Kind.Store {
	case key.UUID:
		return "BINARY(16)"
	case key.Text:
		return fmt.Sprintf("CHAR(%d) CHARACTER SET ascii", t.Kind.Length)
	default:
		return "BIGINT"
	}
}

// mariadbWords disable automatic statistics: Settle and Trees collect them, outside of measurements.
var mariadbWords = words{
	quote: backQuoted,
	key: func(t Table) string {
		column := mariadbKey(t) + " NOT NULL"
		if t.Kind.Counted {
			column += " AUTO_INCREMENT"
		}
		return column + " PRIMARY KEY"
	},
	columns: map[Type]string{Bigint: "BIGINT", Name: "VARCHAR(255)", Moment: "DATETIME(6)"},
	like:    mariadbKey,
	after:   " ENGINE=InnoDB STATS_PERSISTENT=1 STATS_AUTO_RECALC=0",
}

// Settle writes the dirty pages of the tables with FLUSH TABLES ... FOR EXPORT, the only way that does not change the
// server's settings.
func (e *mariadb) Settle(ctx context.Context, tables ...string) (err error) {
	if len(tables) == 0 {
		return nil
	}
	for _, table := range tables {
		if err := e.analyze(ctx, table); err != nil {
			return err
		}
	}
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	_, err = conn.ExecContext(ctx, "FLUSH TABLES "+e.words.quotedList(tables)+" FOR EXPORT")
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
	list, err := collect(ctx, e.db, func(row *[4]string) []any { return []any{&row[0], &row[1], &row[2], &row[3]} },
		"ANALYZE NO_WRITE_TO_BINLOG TABLE "+backQuoted(table))
	for _, row := range list { // table, operation, kind of message, message
		if strings.EqualFold(row[2], "error") {
			return fmt.Errorf("analyze %s: %s", table, row[3])
		}
	}
	if err != nil {
		return fmt.Errorf("analyze %s: %w", table, err)
	}
	return nil
}
