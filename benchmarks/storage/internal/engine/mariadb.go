package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// mariadb is a separate database on a MariaDB or MySQL server. Tables use InnoDB.
type mariadb struct {
	served
	config   *mysql.Config
	version  string // as reported by the server
	pageSize int64
}

func openMariaDB(ctx context.Context, dsn string) (Engine, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		// Without the driver's message, which may repeat parts of the password.
		return nil, errors.New("MariaDB: the DSN is not understood; it looks like user:password@tcp(host:3306)/")
	}

	config.DBName = "" // it may not exist
	config.Logger = &mysql.NopLogger{}
	admin := config.Clone()
	e := &mariadb{config: config, served: served{
		base:    base{name: "mariadb", dialect: "mariadb", words: mariadbWords},
		where:   fmt.Sprintf("MariaDB or MySQL at %s, user %q", config.Addr, config.User),
		connect: func() *sql.DB { return pool(admin) },
		what:    "DATABASE",
		create:  " CHARACTER SET utf8mb4",
		kills:   "SELECT CONCAT('KILL ', id) FROM information_schema.processlist WHERE db = ?",
	}}

	if err := e.open(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}

	return e, nil
}

func pool(config *mysql.Config) *sql.DB {
	connector, _ := mysql.NewConnector(config) // ParseDSN has checked it
	return sql.OpenDB(connector)
}

func (e *mariadb) open(ctx context.Context) (err error) {
	if err := e.make(ctx); err != nil {
		return err
	}

	e.config.DBName = e.place
	e.db = pool(e.config)
	e.db.SetMaxIdleConns(idleConns)
	var flush, sync, binlog string
	err = e.db.QueryRowContext(ctx, `SELECT VERSION(), @@innodb_page_size,
		@@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.sync_binlog, @@GLOBAL.log_bin`).
		Scan(&e.version, &e.pageSize, &flush, &sync, &binlog)
	if err != nil {
		return fmt.Errorf("%s: %w", e.where, err)
	}

	e.name = strings.ToLower(e.product())
	e.add(fmt.Sprintf("%s has no setting for one session to commit without a flush. The server's settings are left as "+
		"they are: innodb_flush_log_at_trx_commit=%s, sync_binlog=%s, log_bin=%s.", e.product(), flush, sync, binlog))
	return nil
}

func (e *mariadb) product() string {
	if strings.Contains(e.version, "MariaDB") {
		return "MariaDB"
	}
	return "MySQL"
}

// Returning: https://mariadb.com/kb/en/insertreturning/.
func (e *mariadb) Returning() bool { return e.product() == "MariaDB" }

func (e *mariadb) Settings(ctx context.Context) ([]measure.Setting, error) {
	product := "" // MariaDB's version contains its name
	if e.product() == "MySQL" {
		product = "MySQL "
	}
	return e.settings(ctx, product, "SELECT VERSION()", "SELECT @@GLOBAL.", "innodb_buffer_pool_size",
		"innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_page_size", "sync_binlog", "log_bin",
		"innodb_doublewrite")
}

// mariadbWords disable automatic statistics: Settle and Sizes collect them, outside of measurements.
var mariadbWords = words{
	column: func(k key.Kind) string {
		return [...]string{"BIGINT", "BINARY(16)", "CHAR(36) CHARACTER SET ascii"}[k.Store]
	},
	key: func(k key.Kind) string {
		if k.Counted {
			return " NOT NULL AUTO_INCREMENT PRIMARY KEY"
		}
		return " NOT NULL PRIMARY KEY"
	},
	text:  "VARCHAR(255)",
	after: " ENGINE=InnoDB STATS_PERSISTENT=1 STATS_AUTO_RECALC=0",
}

// Settle writes the dirty pages of the tables with FLUSH TABLES ... FOR EXPORT, the only way that does not change the
// server's settings.
func (e *mariadb) Settle(ctx context.Context, tables ...string) (err error) {
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

	_, err = conn.ExecContext(ctx, "FLUSH TABLES "+strings.Join(tables, ", ")+" FOR EXPORT")
	if denied(err) {
		e.add("The user may not run FLUSH TABLES ... FOR EXPORT (GRANT RELOAD), so pages may be written during a " +
			"measurement.")
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the pages of %s: %w", strings.Join(tables, ", "), err)
	}

	// Unlock even if ctx has ended: the connection goes back to the pool.
	_, err = conn.ExecContext(context.WithoutCancel(ctx), "UNLOCK TABLES")
	return err
}

func (e *mariadb) analyze(ctx context.Context, table string) error {
	list, err := collect(ctx, e.db, func(row *[4]string) []any { return []any{&row[0], &row[1], &row[2], &row[3]} },
		"ANALYZE NO_WRITE_TO_BINLOG TABLE "+table)
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

// Sizes counts the roots and the leaves. InnoDB also reserves extents of 1 MiB, up to four ahead, which would hide the
// differences between keys in all but large tables. Pages between the root and the leaves, about one in three hundred,
// are not counted. MariaDB 10.11 does not count the leaves of indexes of up to about 40 pages: what is reserved counts.
func (e *mariadb) Sizes(ctx context.Context, table string) (s Sizes, err error) {
	if err := e.analyze(ctx, table); err != nil {
		return s, err
	}

	err = e.db.QueryRowContext(ctx, `SELECT SUM(pages), SUM(IF(clustered, 0, pages)) FROM (
			SELECT index_name IN ('PRIMARY', 'GEN_CLUST_INDEX') AS clustered,
				IF(MAX(IF(stat_name = 'n_leaf_pages', stat_value, 0)) > 1,
					MAX(IF(stat_name = 'n_leaf_pages', stat_value, 0)) + 1,
					MAX(IF(stat_name = 'size', stat_value, 1))) AS pages
			FROM mysql.innodb_index_stats WHERE database_name = ? AND table_name = ? GROUP BY index_name
		) AS indexes`, e.place, table).Scan(&s.Table, &s.Secondary)
	return Sizes{Table: s.Table * e.pageSize, Secondary: s.Secondary * e.pageSize}, err
}

// networks numbers the networks of Through. The driver keeps their names for the life of the process.
var networks atomic.Int64

// Through sends parameters of unprepared statements in the statement's text, which may contain several statements.
func (e *mariadb) Through(dial Dial) (*sql.DB, func() error) {
	config := e.config.Clone()
	config.MultiStatements, config.InterpolateParams = true, true
	network := config.Net
	config.Net = "sqlflake" + strconv.FormatInt(networks.Add(1), 10)
	mysql.RegisterDialContext(config.Net, func(ctx context.Context, address string) (net.Conn, error) {
		return dial(ctx, network, address)
	})

	db := pool(config)
	return db, func() error {
		defer mysql.DeregisterDialContext(config.Net)
		return db.Close()
	}
}
