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
	version: func(ctx context.Context, dsn string) (string, error) {
		return askVersion(ctx, "mysql", dsn, "SELECT VERSION()")
	},
}

// MariaDB returns a new database on a MariaDB or MySQL server, with parseTime=true in the DSN. When the test ends, the
// connections that still use the database are ended and it is dropped.
func MariaDB(tb testing.TB) Target {
	tb.Helper()
	server := mariadbServer.need(tb)
	base := server.dsn
	config, err := mysql.ParseDSN(base)
	if err != nil {
		tb.Fatalf("testdb: %s: %v", mariadbName, err)
	}
	config.DBName = newName()
	config.ParseTime = true
	removeAtEnd(tb, "database "+config.DBName, func(ctx context.Context) error {
		return admin(ctx, "mysql", base, func(ctx context.Context, db *sql.DB) error {
			if err := killConnections(ctx, db, config.DBName); err != nil {
				return fmt.Errorf("end its connections: %w", err)
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

// killConnections ends the connections that use the database: an open transaction that a failed test has left behind
// would block DROP DATABASE.
func killConnections(ctx context.Context, db *sql.DB, database string) error {
	rows, err := db.QueryContext(ctx, "SELECT id FROM information_schema.processlist WHERE db = ?", database)
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
	for _, id := range ids {
		// Not checked: the connection may have ended by itself. If it lives on, DROP DATABASE says so.
		_, _ = db.ExecContext(ctx, fmt.Sprintf("KILL CONNECTION %d", id))
	}
	return rows.Err()
}

func parseMariaDB(value string) (dsn, printed string, err error) {
	config, err := mysql.ParseDSN(value)
	if err != nil {
		// The value is not quoted: it may hold a password.
		return "", "", fmt.Errorf("want a DSN such as %s: %w", mariadbFallback, err)
	}
	return value, config.Addr, nil
}
