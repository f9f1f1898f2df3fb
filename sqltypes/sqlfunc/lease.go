package sqlfunc

import (
	"fmt"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// leaseTable says where the worker is reserved.
type leaseTable struct{ table, namespace string }

// WithLeaseTable reserves the worker in a table of leases: the statements then add
// a row for it in the namespace, as if it were held until the year 2200, so that
// no lease of the namespace ever gets it. table is as for sqllease.WithTable, "" for
// its default; it is made if it is not there. The namespace is that of
// lease.WithNamespace.
//
// The statements fail if the worker is held by a lease, if the namespace has
// another layout, and if the worker is reserved for functions of another schema,
// database or name. If it was held before, the first ID that is issued is
// above all that its last owner could have issued.
func WithLeaseTable(table, namespace string) Option {
	return optionFunc(func(c *config) error {
		if table == "" {
			table = defaultLeaseTable
		}
		if _, err := sqllease.New(noDatabase{}, sqllease.Postgres, sqllease.WithTable(table)); err != nil {
			return fmt.Errorf("%w: %w", ErrOption, err)
		}
		request := lease.Request{Namespace: namespace, Layout: c.layout.String(), Token: strings.Repeat("0", 32), TTL: time.Second}
		if err := request.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrOption, err)
		}
		c.leases = &leaseTable{table: table, namespace: namespace}
		return nil
	})
}

const (
	defaultLeaseTable = "snowflake_leases" // of sqllease.New

	// leaseToken is none that a lease can have: those are 32 hexadecimal digits.
	leaseToken = "reserved for the server"

	// leaseExpires is 2200-01-01 in Unix milliseconds: beyond the years that count
	// here, and near enough for the time until then to be a time.Duration.
	leaseExpires = "7258118400000"

	leaseHost    = "database server"
	leaseVersion = "sqlfunc"
)

// schema returns the statement that makes the table, and the table's name in
// quotes.
func (t *leaseTable) schema(dialect sqllease.Dialect) (statement, table string) {
	store, err := sqllease.New(noDatabase{}, dialect, sqllease.WithTable(t.table))
	if err != nil {
		return "", "" // WithLeaseTable has made one
	}
	statement = store.Schema()
	_, rest, _ := strings.Cut(statement, "CREATE TABLE IF NOT EXISTS ")
	table, _, _ = strings.Cut(rest, " (\n")
	return statement, table
}

// noDatabase lets a store tell its schema.
type noDatabase struct{ sqllease.DB }
