package sqllease

import (
	"context"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/internal/sqltable"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// The columns of the namespaces:
//
//	namespace         the name
//	protocol          the version of the protocol that a process must know, 1: a later version raises it
//	layout            the text of the layout of all IDs
//	generation        how often the layout has changed: see move.go
//	start_tick        the least tick of an owner
//	first_worker      the share: the workers that leases may have, both inclusive; 0 and 2^63-1 without one
//	last_worker
//	has_leases        1 after the first lease was added; then a namespace without leases was damaged
//	server            the identity of the server that serves the namespace; '': unknown
//	server_since_ms   since when, if that took the place of another one; 0: since the namespace exists
//	reach_ms          the greatest reach of a request
//	reach_before_ms   the one before
//	reach_since_ms    when the one replaced the other; 0: never
//	revision          the number of changes
//
// And of the leases:
//
//	namespace         the name
//	worker            its number
//	epoch             how often the worker was taken, or taken away
//	token             of the owner; '' if the lease has none
//	horizon           the tick up to which IDs may have been issued, in ticks of the namespace's layout
//	expires_ms        the end of the lease
//	generation        of the layout in which the horizon is
//	reserved_for      the purpose of a worker that is kept out of all leases; '' for a lease
//	host              the holder, for people
//	pid
//	version
//	revision          the number of changes
//
// Times are in milliseconds since 1970, by the server's clock. Each UPDATE changes the revision, as MySQL reports how
// many rows were changed, not how many were found: a second extension within a millisecond would look like a lost
// lease.
//
// To add a column, such as one of the holder:
//
//  1. In each dialect: createLeases and usable; addLease and takeOver, which set it; list and readMove, which read it.
//  2. In Go: snapshot.owner has the parameters; Store.list, reservedHolder and Store.survey read it. For the holder
//     also leasestore.Holder, the option in lease/options.go, lease/reservation.go and leasetest/leasetest.go. The
//     other stores: filelease (owner.go, row.go) and kvlease (store.go, row.go) copy field by field, redislease writes
//     the holder as JSON. cmd/sqlflake/workers.go shows it.
//  3. Package sqlfunc reserves workers with the INSERT and UPDATE of contrib/sqlfunc/postgres_reserve.sql.
//  4. The two migrations in examples/recipes/migrations copy the DDL. Who has applied them needs a new file with an
//     ALTER TABLE.
//  5. Migrate adds no column to a table that exists. So an ALTER TABLE comes before the first process with the new
//     version. The column needs a DEFAULT, there and in CREATE TABLE: processes with the version before leave it out of
//     their INSERT, even into a table that a new one has created. Their takeOver leaves the former holder's value next
//     to the new host.

// Schema returns the statements with which Migrate creates the two tables, for migrations of your own: CREATE TABLE IF
// NOT EXISTS without a semicolon. prefix has the meaning it has in [WithTables], "" for its default. It returns
// [lease.ErrOption] for another prefix and an unknown dialect.
//
// Rows must not be deleted: a lease holds the horizon of its worker, and without that IDs may repeat.
func Schema(d sqldb.Dialect, prefix string) ([]string, error) {
	if _, ok := textsOf[dialect(d)]; !ok {
		return nil, fmt.Errorf("%w: unknown dialect %q, want Postgres, MySQL or SQLite", lease.ErrOption, string(d))
	}
	tables, err := dialect(d).tables(prefix)
	if err != nil {
		return nil, err
	}
	return dialect(d).schema(tables), nil
}

func (d dialect) schema(t tables) []string {
	return []string{
		strings.Replace(textsOf[d].createNamespaces, "{namespaces}", t.namespaces, 1),
		strings.Replace(textsOf[d].createLeases, "{leases}", t.leases, 1),
	}
}

// Migrate creates the tables if the database says that they are missing. If they exist, Migrate issues three statements
// that read (on SQLite one) and no DDL, so it needs no right to create tables then. It may run at the same time in any
// number of processes.
//
// Two pairs of tables are two sets of leases, whose IDs may be equal. So on PostgreSQL, where a name without a schema
// depends on the search_path and on the role's rights, Migrate returns [lease.ErrOption] instead of creating a table if
// another schema of the database has one of that name, and if the two are in different schemas. [WithTables] with a
// schema decides.
//
// It returns [lease.ErrDamaged] if one of the tables is missing and the other one has rows. It also returns
// lease.ErrOption for a table that belongs to a stranger, see README.md, and for connections with autocommit = 0
// (MySQL), on which nothing that a lease stores would be committed; and the errors of the database if the tables can't
// be read or created.
func (s *Store) Migrate(ctx context.Context) error {
	_, err := await(ctx, s, "migrate", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.failed("migrate", s.definition(ctx).Ensure(ctx, s.places))
	})
	return err
}

// places returns where the two tables are, before and after they are created.
func (s *Store) places(ctx context.Context) ([]sqltable.Place, error) {
	server, err := s.identify(ctx)
	if err != nil {
		return nil, err
	}
	return server.places, nil
}

func (s *Store) definition(ctx context.Context) sqltable.Tables {
	schema := s.dialect.schema(s.tables)

	return sqltable.Tables{
		DB: s.on(ctx), Dialect: sqldb.Dialect(s.dialect),
		Parts: []sqltable.Part{
			{Name: s.tables.leases, Create: schema[1]}, {Name: s.tables.namespaces, Create: schema[0]},
		},
		Read: func(names []string) string {
			named := strings.NewReplacer("{leases}", names[0], "{namespaces}", names[1])
			return named.Replace(textsOf[s.dialect].usable)
		},
		Remedy:  "name the schema, with sqllease.WithTables or gormplugin.WithLeaseTables, as that of %[1]s",
		Refused: lease.ErrOption, Damaged: lease.ErrDamaged,
	}
}

// holderText returns the text without what some dialect can't store, cut to 255 bytes.
func holderText(s string) string {
	const limit = 255
	s = strings.ReplaceAll(s, "\x00", "")
	return strings.ToValidUTF8(s[:min(len(s), limit)], "") // also drops a rune that was cut in two
}
