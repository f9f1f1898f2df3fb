package testdb

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
)

const (
	mariadbName     = "mariadb"
	mariadbFallback = "root@tcp(127.0.0.1:3306)/"
)

var mariadbServer = &server{
	name:     mariadbName,
	variable: "SNOWFLAKE_TEST_MYSQL",
	fallback: mariadbFallback,
	parse:    parseMariaDB,
	driver:   "mysql",
	version:  "SELECT VERSION()",
	program:  mariadbName,
}

// MariaDB returns a new database on the server of SNOWFLAKE_TEST_MYSQL, which is MariaDB or MySQL. Its DSN contains
// parseTime=true. When the test ends, connections that still use the database are killed and it is dropped.
func MariaDB(tb testing.TB) Target {
	tb.Helper()
	server := mariadbServer.need(tb)
	base := server.dsn
	config, _ := mysql.ParseDSN(base) // a server was found there
	config.DBName = newName()
	config.ParseTime = true
	removeAtEnd(tb, "database "+config.DBName, func(ctx context.Context) error {
		return admin(ctx, "mysql", base, func(ctx context.Context, db *sql.DB) error {
			// DROP DATABASE would wait for an open transaction of a failed test.
			ids, err := mariadbConnections(ctx, db, config.DBName)
			if err != nil {
				return fmt.Errorf("kill its connections: %w", err)
			}

			for _, id := range ids { // the connection may have ended meanwhile; otherwise DROP DATABASE reports it
				_, _ = db.ExecContext(ctx, fmt.Sprintf("KILL CONNECTION %d", id))
			}

			return execAll("DROP DATABASE IF EXISTS "+config.DBName)(ctx, db)
		})
	})
	create(tb, mariadbName, "mysql", base, "CREATE DATABASE "+config.DBName+" CHARACTER SET utf8mb4")

	return Target{
		Name:    mariadbName,
		Version: server.version,
		Driver:  "mysql",
		DSN:     config.FormatDSN(),
	}
}

// mariadbConnections returns the connections that use the database, without the one that asks.
func mariadbConnections(ctx context.Context, db *sql.DB, database string) ([]int64, error) {
	ids, err := queryIDs(ctx, db, `SELECT id FROM information_schema.processlist
		WHERE db = ? AND id <> CONNECTION_ID()`, database)
	if err != nil {
		// MySQL 9 fails while a statement with binary data runs anywhere on the server: it can't show the statement.
		ids, err = queryIDs(ctx, db, `SELECT processlist_id FROM performance_schema.threads
			WHERE processlist_db = ? AND processlist_id <> CONNECTION_ID()`, database)
	}
	return ids, err
}

// MetadataLockWaits returns how many statements wait for a table in the database of the pool.
func MetadataLockWaits(ctx context.Context, db *sql.DB) (n int, err error) {
	const waiting = " LIKE 'Waiting for%metadata lock'"
	err = db.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.processlist
		WHERE db = DATABASE() AND state`+waiting).Scan(&n)
	if err != nil { // as in mariadbConnections
		err = db.QueryRowContext(ctx, `SELECT COUNT(*) FROM performance_schema.threads
			WHERE processlist_db = DATABASE() AND processlist_state`+waiting).Scan(&n)
	}
	return n, err
}

func queryIDs(ctx context.Context, db *sql.DB, query string, args ...any) (ids []int64, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}

	return ids, rows.Err()
}

func parseMariaDB(value string) (dsn, printed string, err error) {
	config, err := mysql.ParseDSN(value)
	if err != nil {
		// Without the value, which may contain a password.
		return "", "", fmt.Errorf("want a DSN such as %s: %w", mariadbFallback, err)
	}
	return value, config.Addr, nil
}
