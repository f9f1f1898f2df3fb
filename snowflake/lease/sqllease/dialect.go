package sqllease

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake/internal/operator"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// dialect writes the SQL of a [sqldb.Dialect].
type dialect sqldb.Dialect

const (
	postgres = dialect(sqldb.Postgres)
	mysql    = dialect(sqldb.MySQL)
	sqlite   = dialect(sqldb.SQLite)
)

// words are what differs between the dialects in the statements.
type words struct {
	now           string // the database's time in milliseconds since 1970
	bigint        string // the type's name in CAST
	greatest      string // the function of that name
	before, after string // around the table of an INSERT that does nothing if the row exists, so no driver's error counts
	quote         string // of an identifier that has no quotes in it, see tableName
	schema        string // of the functions
	operators     *strings.Replacer
}

var vocabulary = map[dialect]words{
	// now() would be the start of the transaction.
	postgres: {
		"CAST(pg_catalog.FLOOR(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) {*} 1000) AS BIGINT)",
		"BIGINT", "GREATEST", "INSERT INTO", "ON CONFLICT DO NOTHING", `"`, "pg_catalog.", operator.Qualified,
	},

	// UTC_TIMESTAMP depends neither on the session's time zone, where an hour is repeated in autumn, nor ends in 2038 as
	// UNIX_TIMESTAMP does before MySQL 8.0.28. It is the time at which the statement began, so a statement that then waits
	// for a lock takes no worker too early; and unlike SYSDATE it is the same on replicas.
	mysql: {
		"TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000",
		"SIGNED", "GREATEST", "INSERT IGNORE INTO", "", "`", "", operator.Plain,
	},

	// unixepoch('subsec') needs 3.42. A Julian day in a double is exact to 40 microseconds.
	sqlite: {
		"CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
		"BIGINT", "MAX", "INSERT INTO", "ON CONFLICT DO NOTHING", `"`, "", operator.Plain,
	},
}

// rebind numbers the parameters if the dialect needs that. The statements have question marks for parameters only.
func (d dialect) rebind(query string) string {
	if d != postgres {
		return query
	}
	parts := strings.Split(query, "?")
	var b strings.Builder
	b.WriteString(parts[0])
	for i, part := range parts[1:] {
		b.WriteString("$" + strconv.Itoa(i+1) + part)
	}
	return b.String()
}

// 63 bytes are PostgreSQL's limit, MySQL's is 64.
var tableName = regexp.MustCompile(`^(?:[A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// table checks the name, with or without a schema, and quotes it.
func (d dialect) table(name string) (string, error) {
	if !tableName.MatchString(name) {
		return "", fmt.Errorf("%w: the table %q is not table or schema.table, each of 1 to 63 letters (a to z), "+
			"digits and underscores, the first no digit", lease.ErrOption, name)
	}
	quote := vocabulary[d].quote
	return quote + strings.ReplaceAll(name, ".", quote+"."+quote) + quote, nil
}
