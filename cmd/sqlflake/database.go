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

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

const (
	serverHelp = `The DSN is one of
  postgres://user:password@host:5432/database, or host=... dbname=...
  user:password@tcp(host:3306)/database, for MySQL and MariaDB`
	dsnHelp = serverHelp + `
  sqlite:leases.db, the path of a SQLite file`
)

// dsnFlag adds --dsn, which [readDSN] reads.
func dsnFlag(c *cobra.Command, dsn *string) {
	c.Flags().StringVar(dsn, "dsn", "", "`DSN` of the database (default $SQLFLAKE_DSN)")
}

// source is a database that may answer.
type source struct {
	driver, dsn string
	dialect     sqldb.Dialect
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

// refused hides what a server says about a setting in the DSN, which may be a part of a password.
func refused(err error) error {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return err
	}

	isSetting := answer.Code == "42704" || answer.Code == "22023"
	if isSetting {
		return fmt.Errorf("the server refuses a parameter of the DSN (SQLSTATE %s)", answer.Code)
	}
	return err
}

// keywords matches the form of libpq, such as "host=db user=app".
var keywords = regexp.MustCompile(`^\s*\w+\s*=`)

// readDSN finds out which database a DSN is for. Its errors quote nothing of a DSN that may have a password: the
// drivers print parts of it, and a character that was not escaped makes a part of the password one of them.
func readDSN(dsn string) (source, error) {
	path, isSQLite := strings.CutPrefix(dsn, "sqlite:")
	isURL := strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
	isOtherURL := strings.Contains(dsn, "://") && !isURL

	switch {
	case dsn == "":
		return source{}, usage("no database: give --dsn, or set SQLFLAKE_DSN")
	case isSQLite:
		return readSQLite(path)
	case isURL || keywords.MatchString(dsn):
		return readPostgres(dsn)
	case isOtherURL || !strings.ContainsAny(dsn, "@("):
		return source{}, errors.New("unknown form of a DSN. " + dsnHelp + `
For example: --dsn "app:secret@tcp(127.0.0.1:3306)/shop", without mysql:// before it`)
	}
	return readMySQL(dsn)
}

func readSQLite(path string) (source, error) {
	// A path that does not exist is a mistake, and no database is created for it.
	if _, err := os.Stat(path); err != nil {
		if strings.Contains(path, "?") {
			return source{}, errors.New("SQLite: no such file: the DSN is sqlite: and a path, without parameters")
		}
		return source{}, fmt.Errorf("SQLite: %w", err)
	}

	u := url.URL{
		Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(),
		RawQuery: "mode=rw&_pragma=busy_timeout(5000)",
	}
	return source{"sqlite", u.String(), sqldb.SQLite}, nil
}

func readPostgres(dsn string) (source, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil || misread(dsn, config) {
		return source{}, errors.New("this is not a valid PostgreSQL DSN; in a URL write / ? # @ % of a password as " +
			"%2F %3F %23 %40 %25, and after password= use single quotes if it has spaces")
	}
	return source{"pgx", dsn, sqldb.Postgres}, nil
}

// parameter matches the names of settings.
var parameter = regexp.MustCompile(`^[\w.]+$`)

// misread reports whether a part of a password was probably taken for something else, which messages would name.
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

func readMySQL(dsn string) (source, error) {
	config, err := mysql.ParseDSN(dsn)
	isConstant := err != nil && strings.HasPrefix(err.Error(), "invalid DSN: ") // it has nothing of the DSN
	switch {
	case isConstant:
		return source{}, err
	case err != nil, config.Net != "tcp" && config.Net != "unix":
		return source{}, errors.New("this is not a valid MySQL DSN: the network, the address or a parameter is wrong")
	}
	return source{"mysql", dsn, sqldb.MySQL}, nil
}
