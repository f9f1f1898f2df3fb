package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "github.com/mattn/go-sqlite3"    // the driver "sqlite3"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

const dsnHelp = `
The DSN is one of
  postgres://user:password@host:5432/database, or host=... dbname=...
  user:password@tcp(host:3306)/database, for MySQL and MariaDB
  sqlite:leases.db, the path of a SQLite file
`

// databaseFlags adds -dsn and -table. The function opens the table of leases.
func (c *command) databaseFlags() func(context.Context, environment) (*database, error) {
	dsn := c.flags.String("dsn", "", "the `DSN` of the database (default $SNOWFLAKE_DSN)")
	table := c.flags.String("table", "", "the `NAME` of the table of leases (default snowflake_leases)")
	return func(ctx context.Context, env environment) (*database, error) {
		text := *dsn
		if text == "" {
			text = env.getenv("SNOWFLAKE_DSN")
		}
		if text == "" {
			return nil, usage("no database: give -dsn, or set SNOWFLAKE_DSN")
		}
		return openDatabase(ctx, text, *table)
	}
}

// database is a table of leases.
type database struct {
	*sqllease.Store
	pool *sql.DB
}

func openDatabase(ctx context.Context, dsn, table string) (*database, error) {
	driver, source, dialect, err := readDSN(dsn)
	if err != nil {
		return nil, err
	}
	pool, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	var opts []sqllease.Option
	if table != "" {
		opts = append(opts, sqllease.WithTable(table))
	}
	store, err := sqllease.New(pool, dialect, opts...)
	if err == nil {
		err = pool.PingContext(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &database{store, pool}, nil
}

// keywords matches the form of libpq, such as "host=db user=app".
var keywords = regexp.MustCompile(`^\s*\w+\s*=`)

// readDSN finds out which database it is for.
func readDSN(dsn string) (driver, source string, dialect sqllease.Dialect, err error) {
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		// A path that does not exist is a mistake, and no database is created for it.
		if _, err := os.Stat(path); err != nil {
			return "", "", "", fmt.Errorf("SQLite: %w", err)
		}
		u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "mode=rw&_busy_timeout=5000"}
		return "sqlite3", u.String(), sqllease.SQLite, nil
	}
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") || keywords.MatchString(dsn) {
		_, err := pgx.ParseConfig(dsn)
		var wrong *pgconn.ParseConfigError
		if errors.As(err, &wrong) {
			wrong.ConnString = "the DSN" // the message would have parts of some passwords
		}
		return "pgx", dsn, sqllease.Postgres, err
	}
	if !strings.ContainsAny(dsn, "@(") || strings.Contains(dsn, "://") {
		return "", "", "", errors.New("unknown form of a DSN; \"snowflake help workers\" shows those that are known")
	}
	_, err = mysql.ParseDSN(dsn)
	return "mysql", dsn, sqllease.MySQL, err
}

// password matches one in a DSN of any form. Drivers print none, but messages about arguments do: a DSN may have been
// given to the wrong flag.
//
// In a URL, and in the form of MySQL, it is between the first colon and the last @ of the line. This takes the user of a
// URL with it. In the form of libpq a backslash, which a quoted text has twice, is before a quote or a space.
var password = regexp.MustCompile(`([^\s"'\x60:]*:(?://)?)\S.*(@)|(password\s*=\s*)(?:'(?:\\+.|[^'\\])*(?:'|$)|(?:\\+.|\S)+)`)

func withoutPasswords(text string) string { return password.ReplaceAllString(text, "$1${3}xxxxx$2") }

func (d *database) close() { _ = d.pool.Close() }

// List is that of the store, with the reason for which it usually fails.
func (d *database) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	entries, err := d.Store.List(ctx, namespace)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w\nIs this the database with the leases? -table names another table", err)
	}
	return entries, err
}
