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

// database is a table of leases. No error of its methods contains the password.
type database struct {
	*sqllease.Store
	pool   *sql.DB
	secret []string // what no message may contain
}

func openDatabase(ctx context.Context, dsn, table string) (*database, error) {
	driver, source, dialect, word, err := readDSN(dsn)
	d := &database{secret: []string{dsn, url.QueryEscape(word), url.PathEscape(word), word}}
	if err != nil {
		return nil, d.clean(err)
	}
	if d.pool, err = sql.Open(driver, source); err != nil {
		return nil, d.clean(err)
	}
	var opts []sqllease.Option
	if table != "" {
		opts = append(opts, sqllease.WithTable(table))
	}
	if d.Store, err = sqllease.New(d.pool, dialect, opts...); err == nil {
		err = d.pool.PingContext(ctx)
	}
	if err != nil {
		return nil, d.clean(errors.Join(err, d.pool.Close()))
	}
	return d, nil
}

// keywords matches the form of libpq, such as "host=db user=app".
var keywords = regexp.MustCompile(`^\s*\w+\s*=`)

// readDSN finds out which database it is for.
func readDSN(dsn string) (driver, source string, dialect sqllease.Dialect, word string, err error) {
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		// A path that does not exist is a mistake, and no database is created for it.
		if _, err := os.Stat(path); err != nil {
			return "", "", "", "", fmt.Errorf("SQLite: %w", err)
		}
		u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "mode=rw&_busy_timeout=5000"}
		return "sqlite3", u.String(), sqllease.SQLite, "", nil
	}
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") || keywords.MatchString(dsn) {
		config, err := pgx.ParseConfig(dsn)
		if err != nil {
			return "", "", "", passwordIn(dsn), err
		}
		return "pgx", dsn, sqllease.Postgres, config.Password, nil
	}
	if !strings.ContainsAny(dsn, "@(") || strings.Contains(dsn, "://") {
		return "", "", "", passwordIn(dsn), errors.New("unknown form of a DSN; \"snowflake help workers\" shows those that are known")
	}
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return "", "", "", passwordIn(dsn), fmt.Errorf("MySQL: %w", err)
	}
	return "mysql", dsn, sqllease.MySQL, config.Passwd, nil
}

// password matches one in a DSN of any form, such as one that was given to the wrong flag.
var password = regexp.MustCompile(`(://[^\s:/@]*:|\b[\w.-]+:)[^\s@]+(@)|(password=)(?:'[^']*'|[^\s&]+)`)

func withoutPasswords(text string) string { return password.ReplaceAllString(text, "$1${3}xxxxx$2") }

// passwordIn finds the password in a DSN that can't be read.
func passwordIn(dsn string) string {
	if _, value, ok := strings.Cut(dsn, "password="); ok {
		value, _, _ = strings.Cut(value, " ")
		return strings.Trim(value, "'")
	}
	_, rest, ok := strings.Cut(dsn, "://")
	if !ok {
		rest = dsn
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		_, password, _ := strings.Cut(rest[:at], ":")
		return password
	}
	return ""
}

// clean returns an error whose text has neither the DSN nor the password, and which matches what err matches.
func (d *database) clean(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, secret := range d.secret {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "xxxxx")
		}
	}
	return cleanError{text, err}
}

type cleanError struct {
	text string
	err  error
}

func (e cleanError) Error() string { return e.text }
func (e cleanError) Unwrap() error { return e.err }

func (d *database) close() { _ = d.pool.Close() }

// List is that of the store, with the reason for which it usually fails.
func (d *database) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	entries, err := d.Store.List(ctx, namespace)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w\nIs this the database with the leases? -table names another table", err)
	}
	return entries, d.clean(err)
}
