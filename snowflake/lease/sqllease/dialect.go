package sqllease

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

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

// tables are the names of the two tables as SQL.
type tables struct{ namespaces, leases string }

const defaultPrefix = "snowflake_"

// 63 bytes are PostgreSQL's limit, MySQL's is 64: the longer name adds ten.
var prefixForm = regexp.MustCompile(`^(?:[A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,52}$`)

// tables returns the tables whose names begin with the prefix, with or without a schema, in quotes.
func (d dialect) tables(prefix string) (tables, error) {
	prefix = cmp.Or(prefix, defaultPrefix)
	if !prefixForm.MatchString(prefix) {
		return tables{}, fmt.Errorf("%w: the prefix %q of the tables is not a name or schema.name, of 1 to 53 letters "+
			"(a to z), digits and underscores, the schema of 1 to 63, the first of each no digit",
			lease.ErrOption, prefix)
	}

	quote := `"`
	if d == mysql {
		quote = "`"
	}
	quoted := func(name string) string { return quote + strings.ReplaceAll(name, ".", quote+"."+quote) + quote }
	return tables{quoted(prefix + "namespaces"), quoted(prefix + "leases")}, nil
}

// shown returns a name without its quotes.
func shown(table string) string { return strings.NewReplacer("`", "", `"`, "").Replace(table) }
