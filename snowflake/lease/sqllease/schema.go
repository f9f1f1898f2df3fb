package sqllease

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake/internal/sqltable"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// The columns have the same names and order in all dialects. The row with the worker -1 stands for the namespace; it is
// inserted first and holds the layout. Its host is the identity of the database server, its expires_ms the time at which
// that became another one, or 0, and its horizon the greatest reach of a request in milliseconds; its pid is the time at
// which that was raised, or 0, and its epoch the reach before.
//
// revision counts the changes, so that each UPDATE changes something: MySQL reports how many rows were changed, not how
// many were found, and a second extension within a millisecond would look like a lost lease.
//
// protocol is the version of the protocol that a process must know to take the worker or to extend its lease. With 2, the
// version of the row of the namespace may have settings. A later version that keeps more in that row, whose token is
// empty, raises it in all rows of the namespace.
const (
	columnNames = "namespace, worker, epoch, token, horizon, expires_ms, revision, layout, host, pid, version"

	// Text is compared byte by byte. As VARCHAR, "a", "A" and "a " would be one namespace in MySQL.
	columns = `namespace VARBINARY(100) NOT NULL,
	worker BIGINT NOT NULL,
	epoch BIGINT NOT NULL,
	token VARBINARY(32) NOT NULL,
	horizon BIGINT NOT NULL,
	expires_ms BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	layout VARBINARY(1000) NOT NULL,
	host VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
	pid BIGINT NOT NULL,
	version VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
	protocol BIGINT NOT NULL DEFAULT 1,
	PRIMARY KEY (namespace, worker)`
)

// columnTypes are those of PostgreSQL, whose search_path may have another text, and SQLite, where bigint has integer
// affinity, in the place of MySQL's.
var columnTypes = map[dialect]*strings.Replacer{postgres: typesWith("pg_catalog.text"), sqlite: typesWith("text")}

func typesWith(text string) *strings.Replacer {
	return strings.NewReplacer("VARBINARY(100)", text, "VARBINARY(32)", text, "VARBINARY(1000)", text,
		"VARCHAR(255) CHARACTER SET utf8mb4", text, "BIGINT", "bigint")
}

// Schema returns the statement with which Migrate creates the table, for migrations of your own: CREATE TABLE IF NOT
// EXISTS without a semicolon. table is as for [WithTable], "" for its default. It returns [lease.ErrOption] for another
// name and an unknown dialect.
//
// Rows must not be deleted: a row holds the horizon of its worker, and without that IDs may repeat.
func Schema(d sqldb.Dialect, table string) (string, error) {
	if d != sqldb.Postgres && d != sqldb.MySQL && d != sqldb.SQLite {
		return "", fmt.Errorf("%w: unknown dialect %q, want Postgres, MySQL or SQLite", lease.ErrOption, string(d))
	}
	quoted, err := dialect(d).table(cmp.Or(table, defaultTable))
	return dialect(d).schema(quoted), err
}

func (d dialect) schema(table string) string {
	create := "CREATE TABLE IF NOT EXISTS " + table + " (\n\t"
	if d == mysql {
		return create + columns + "\n) ENGINE=InnoDB" // MyISAM survives no crash
	}
	return create + columnTypes[d].Replace(columns) + "\n)"
}

// Migrate creates the table if the database says that it is missing. If it exists, Migrate issues three statements that
// read (on SQLite one) and no DDL, so it needs no right to create tables then. It may run at the same time in any number
// of processes.
//
// Two tables are two sets of leases, whose IDs may be equal. So on PostgreSQL, where a name without a schema depends on the
// search_path and on the role's rights, Migrate returns [lease.ErrOption] instead of creating a table if another schema of
// the database has one of that name. [WithTable] with schema.table decides.
//
// It also returns lease.ErrOption for a table that belongs to a stranger, see README.md, and for connections with
// autocommit = 0 (MySQL), on which nothing that a lease stores would be committed; and the errors of the database if the
// table can't be read or created.
func (s *Store) Migrate(ctx context.Context) error {
	_, err := await(ctx, s, "migrate", func(ctx context.Context) (struct{}, error) { return struct{}{}, s.migrate(ctx) })
	return err
}

func (s *Store) migrate(ctx context.Context) error {
	err := s.definition(ctx).Ensure(ctx, func(ctx context.Context) (sqltable.Place, error) {
		q, err := s.renew(ctx) // also after the creation
		if err != nil {
			return sqltable.Place{}, err
		}
		return q.place, nil
	})
	if err != nil {
		return s.failed("migrate", err)
	}
	return nil
}

func (s *Store) definition(ctx context.Context) sqltable.Table {
	return sqltable.Table{
		DB: s.on(ctx), Dialect: sqldb.Dialect(s.dialect), Name: s.table, Create: s.dialect.schema(s.table),
		Read:    "SELECT " + columnNames + ", protocol FROM " + s.table + " LIMIT 0",
		Remedy:  `name it, with sqllease.WithTable("%[1]s") or gormplugin.WithLeaseTable("%[1]s")`,
		Refused: lease.ErrOption,
	}
}

// holderText returns the text without what some dialect can't store, cut to 255 bytes.
func holderText(s string) string {
	const limit = 255
	s = strings.ReplaceAll(s, "\x00", "")
	return strings.ToValidUTF8(s[:min(len(s), limit)], "") // also drops a rune that was cut in two
}
