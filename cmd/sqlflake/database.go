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
	"github.com/spf13/cobra"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

const (
	serverHelp = `The DSN is one of
  postgres://user:password@host:5432/database, or host=... dbname=...
  user:password@tcp(host:3306)/database, for MySQL and MariaDB`
	dsnHelp = serverHelp + `
  sqlite:leases.db, the path of a SQLite file`
)

// source is a database that may answer.
type source struct {
	driver, dsn string
	dialect     sqldb.Dialect
}

// dsnFlag adds --dsn, which [readDSN] reads.
func dsnFlag(c *cobra.Command) *string {
	return c.Flags().String("dsn", "", "the `DSN` of the database (default $SQLFLAKE_DSN)")
}

// database is where leases are.
type database struct {
	*sqllease.Store
	pool *sql.DB
}

// tablesFlag adds --tables.
func tablesFlag(c *cobra.Command) *string {
	return c.Flags().String("tables", "snowflake_", "the `PREFIX` of the names of the lease tables, also schema.prefix")
}

// databaseFlags adds --dsn and --tables. The function opens the lease tables.
func databaseFlags(c *cobra.Command) func(context.Context) (*database, error) {
	dsn := dsnFlag(c)
	prefix := tablesFlag(c)
	return func(ctx context.Context) (*database, error) { return openDatabase(ctx, *dsn, *prefix) }
}

func openDatabase(ctx context.Context, dsn, prefix string) (*database, error) {
	s, err := readDSN(dsn)
	if err != nil {
		return nil, err
	}
	pool, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	store, err := sqllease.New(pool, s.dialect, sqllease.WithTables(prefix))
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &database{store, pool}, nil
}

// connect opens the database and waits for its answer.
func (s source) connect(ctx context.Context) (*sql.DB, error) {
	pool, err := sql.Open(s.driver, s.dsn)
	if err != nil {
		return nil, err
	}
	if err := refused(pool.PingContext(ctx)); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return pool, nil
}

// keywords matches the form of libpq, such as "host=db user=app".
var keywords = regexp.MustCompile(`^\s*\w+\s*=`)

// readDSN finds out which database it is for. Its errors have nothing of the DSN, of which any part may be one of a
// password: the drivers print parts, above all if a character of a password was not escaped.
func readDSN(dsn string) (source, error) {
	if dsn == "" {
		return source{}, usage("no database: give --dsn, or set SQLFLAKE_DSN")
	}
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		// A path that does not exist is a mistake, and no database is created for it.
		if _, err := os.Stat(path); err != nil {
			if strings.Contains(path, "?") {
				return source{}, errors.New("SQLite: no such file: the DSN is sqlite: and a path, without parameters")
			}
			return source{}, fmt.Errorf("SQLite: %w", err)
		}
		u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "mode=rw&_pragma=busy_timeout(5000)"}
		return source{"sqlite", u.String(), sqldb.SQLite}, nil
	}
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") || keywords.MatchString(dsn) {
		config, err := pgx.ParseConfig(dsn)
		if err != nil || misread(dsn, config) {
			return source{}, errors.New("this is no valid DSN of PostgreSQL; in a URL write / ? # @ % of a password as %2F %3F %23 %40 %25, " +
				"and after password= use single quotes if it has spaces")
		}
		return source{"pgx", dsn, sqldb.Postgres}, nil
	}
	if !strings.ContainsAny(dsn, "@(") || strings.Contains(dsn, "://") {
		return source{}, errors.New("unknown form of a DSN. " + dsnHelp)
	}
	config, err := mysql.ParseDSN(dsn)
	constant := err != nil && strings.HasPrefix(err.Error(), "invalid DSN: ")
	if !constant && (err != nil || config.Net != "tcp" && config.Net != "unix") {
		err = errors.New("this is no valid DSN of MySQL: the network, the address or a parameter is wrong")
	}
	return source{"mysql", dsn, sqldb.MySQL}, err
}

// parameter matches the names of settings.
var parameter = regexp.MustCompile(`^[\w.]+$`)

// misread reports whether a part of a password was probably taken for something else, which messages have.
func misread(dsn string, config *pgx.ConnConfig) bool {
	for name := range config.RuntimeParams {
		if !parameter.MatchString(name) {
			return true
		}
	}
	_, rest, isURL := strings.Cut(dsn, "://")
	if !isURL || keywords.MatchString(dsn) {
		return false
	}
	start := min(strings.IndexAny(rest+"/", "/?#"), len(rest))
	path, _, _ := strings.Cut(rest[start:], "?")
	return strings.Contains(path, "@") || strings.Contains(rest, "#")
}

// refused hides what a server says about a setting in the DSN, which may be a part of a password.
func refused(err error) error {
	var answer *pgconn.PgError
	if errors.As(err, &answer) && (answer.Code == "42704" || answer.Code == "22023") {
		return fmt.Errorf("the server refuses a parameter of the DSN (SQLSTATE %s)", answer.Code)
	}
	return err
}

// secret matches what may have a password. No message has such an argument: a DSN may have been given to the wrong flag.
var secret = regexp.MustCompile(`(?is)://|:.*@|@.*[:(/]|(pass|pwd|secret|key|token)\w*\s*[=(]`)

var errSecret = errors.New("an argument that is not printed looks like a DSN; give it with --dsn, or in SQLFLAKE_DSN")

func (d *database) close() { _ = d.pool.Close() }

// List is that of the store, with the reason for which it usually fails.
func (d *database) List(ctx context.Context, namespace string) ([]leasestore.Entry, error) {
	entries, err := d.Store.List(ctx, namespace)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w\nIs this the database with the leases? --tables names others", err)
	}
	return entries, err
}
