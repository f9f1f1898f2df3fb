package sqlfunc

import (
	_ "embed" // for the templates
	"fmt"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// leaseTables is where the worker is reserved.
type leaseTables struct{ prefix, namespace string }

// WithLeaseTables reserves the worker in the lease tables: the statements add a row for it to the leases of the
// namespace, reserved for SQL functions, so no lease of the namespace gets it. prefix has the meaning that it has in
// [sqllease.WithTables], "" for its default; the tables are created if they do not exist. namespace is the name given
// to lease.WithNamespace.
//
// They must be the tables that the leases use. On PostgreSQL names without a schema depend on the search_path: the
// statements use the tables that are visible, whatever [WithSchema] says, and fail with 42P07 if there are none but
// another schema of the database has one. They fail with 42501 for a table of a stranger, see
// [sqllease.Store.Migrate], and with 55000 if one of the two is missing.
//
// The statements fail if a lease holds the worker, if the namespace has another layout or requires a later version of
// the lease protocol, if it has a share without the worker, and if the worker is reserved for functions of another
// schema, database or name. If it was held before, the first ID is larger than all that its last owner could have
// issued. That is not so shortly after a failover: see package sqllease. A namespace with a reserved worker can't move
// to another layout.
func WithLeaseTables(prefix, namespace string) Option {
	return func(f *Functions) error {
		if _, err := sqllease.Schema(sqldb.Postgres, prefix); err != nil {
			return fmt.Errorf("%w: %w", ErrOption, err)
		}

		request := leasestore.Request{
			Namespace: namespace, Layout: f.layout.String(), Token: strings.Repeat("0", 32),
			TTL: time.Second,
		}
		if err := request.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrOption, err)
		}

		f.leases = &leaseTables{prefix: prefix, namespace: namespace}
		return nil
	}
}

// postgresReserve fills the templates that create the tables and reserve the worker. The purpose is that for which
// sqllease.Store.Move refuses to move a namespace.
func (f *Functions) postgresReserve() (statements []string) {
	schema, _ := sqllease.Schema(sqldb.Postgres, f.leases.prefix) // WithLeaseTables has checked the prefix
	name := func(create string) string {
		_, rest, _ := strings.Cut(create, "CREATE TABLE IF NOT EXISTS ")
		table, _, _ := strings.Cut(rest, " (\n")
		return table
	}
	bare := func(table string) string { return strings.Trim(table[strings.Index(table, ".")+1:], `"`) }
	namespaces, leases := name(schema[0]), name(schema[1])
	low, _ := f.wordBits()

	for _, template := range []string{postgresLeases, postgresReserve} {
		statements = append(statements, f.postgresFill(template,
			"{create}", strings.Join(schema, ";\n"),
			"{leases}", leases,
			"{namespaces}", namespaces,
			"{leases text}", pgsql.Literal(leases),
			"{namespaces text}", pgsql.Literal(namespaces),
			"{lease names}", pgsql.Literal("{"+bare(namespaces)+","+bare(leases)+"}"),
			"{namespace}", pgsql.Literal(f.leases.namespace),
			"{purpose}", "'"+sqllease.PurposeSQL+"'",
			"{host}", pgsql.Literal(f.qualified("next")),
			"{version}", "'sqlfunc'",
			"{low}", low))
	}

	return statements
}

// Two more lease tables would have the same workers as the first ones, so none are created where another schema has
// one. A trigger of a stranger would run with the rights of whoever installs. Package sqllease has the same rules, and
// takes the same lock before it creates them.
//
//go:embed postgres_leases.sql
var postgresLeases string

// It takes the lock of the function that issues IDs, which usually does not wait for it. The horizon is the
// first tick without an ID of the last owner. The word is set to the last sequence of the tick before, so that the next
// ID is of the horizon, and calls of nextval that come first end in the guard. The lock of the namespace's row keeps a
// share, a move and a later version waiting, so they find the row.
//
//go:embed postgres_reserve.sql
var postgresReserve string
