package sqlfunc

import (
	"fmt"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/internal/pgsql"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// leaseTable is where the worker is reserved.
type leaseTable struct{ table, namespace string }

// WithLeaseTable reserves the worker in a lease table: the statements add a row for it to the namespace that is
// held until the year 2200, so no lease of the namespace gets it. table is as for [sqllease.WithTable], "" for its
// default; it is created if it does not exist. The namespace is that of lease.WithNamespace.
//
// The table must be the one of the leases. On PostgreSQL a name without a schema depends on the search_path: the statements
// use the table that is visible, whatever [WithSchema] says, and fail with 42P07 if there is none but another schema of the
// database has one. They fail with 42501 for a table of a stranger, see [sqllease.Store.Migrate].
//
// The statements fail if a lease holds the worker, if the namespace has another layout or requires a later version of the
// lease protocol, and if the worker is reserved for functions of another schema, database or name. If it was held before,
// the first ID is larger than all that its last owner could have issued. That is not so shortly after a failover: see
// package sqllease. A namespace that has a share or has been told another layout requires a later version for a new
// reservation: reserve the worker before sqllease.Store.SetShare. A namespace with a reserved worker can't move to another
// layout.
func WithLeaseTable(table, namespace string) Option {
	return func(f *Functions) error {
		if _, err := sqllease.Schema(sqldb.Postgres, table); err != nil {
			return fmt.Errorf("%w: %w", ErrOption, err)
		}
		request := lease.Request{Namespace: namespace, Layout: f.layout.String(), Token: strings.Repeat("0", 32), TTL: time.Second}
		if err := request.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrOption, err)
		}
		f.leases = &leaseTable{table: table, namespace: namespace}
		return nil
	}
}

// reserve fills the templates that create the table and reserve the worker. The token differs
// from all tokens of leases, which are 32 hexadecimal digits. The lease expires on 2200-01-01, in Unix milliseconds:
// late enough, and the time until then fits a time.Duration.
func (f *Functions) reserve(dialect sqldb.Dialect, fill func(string, ...any) string, templates []string, pairs ...any) (statements []string) {
	schema, _ := sqllease.Schema(dialect, f.leases.table) // WithLeaseTable has checked the name
	_, rest, _ := strings.Cut(schema, "CREATE TABLE IF NOT EXISTS ")
	table, _, _ := strings.Cut(rest, " (\n")
	pairs = append(pairs,
		"{create}", schema,
		"{leases}", table,
		"{leases text}", pgsql.Literal(table),
		"{leases name}", pgsql.Literal(strings.Trim(table[strings.Index(table, ".")+1:], `"`)),
		"{token}", "'reserved for the server'",
		"{expires}", "7258118400000",
		"{version}", "'sqlfunc'")

	for _, template := range templates {
		statements = append(statements, fill(template, pairs...))
	}
	return statements
}

func (f *Functions) postgresReserve() []string {
	low, _ := f.wordBits()
	return f.reserve(sqldb.Postgres, f.postgresFill, []string{postgresLeases, postgresReserve},
		"{namespace}", pgsql.Literal(f.leases.namespace),
		"{host}", pgsql.Literal("database server, "+f.qualified("next")),
		"{low}", low)
}

// A second lease table would have the same workers as the first, so none is created where another schema has one. A
// trigger of a stranger would run with the rights of whoever installs. Package sqllease has the same rules, and
// takes the same lock before it creates one.
const postgresLeases = `DO {quote}
DECLARE
	leases pg_catalog.oid;
	problem pg_catalog.text;
BEGIN
	PERFORM pg_catalog.pg_advisory_xact_lock(8317708120410055019);
	leases := pg_catalog.to_regclass({leases text});
	IF leases IS NULL THEN
		SELECT pg_catalog.string_agg(pg_catalog.concat(n.nspname, '.', c.relname), ', ') INTO problem
			FROM pg_catalog.pg_class AS c
			JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			WHERE c.relname OPERATOR(pg_catalog.=) {leases name} AND pg_catalog.strpos({leases text}, '.') OPERATOR(pg_catalog.=) 0
				AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,f}') AND c.relpersistence OPERATOR(pg_catalog.<>) 't';
		IF problem IS NOT NULL THEN
			RAISE EXCEPTION USING ERRCODE = 'duplicate_table',
				MESSAGE = pg_catalog.concat('{name}: this database has ', problem, ', which is not what ', {leases text},
					' means on this connection'),
				HINT = 'Functions and leases must use one table: name it with its schema in WithLeaseTable, and grant USAGE on that.';
		END IF;
		{create};
		RETURN;
	END IF;
	SELECT owner.rolname INTO problem
		FROM pg_catalog.pg_roles AS me
		JOIN pg_catalog.pg_database AS d ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
		JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) leases
		JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		JOIN pg_catalog.pg_roles AS owner ON owner.oid OPERATOR(pg_catalog.=) c.relowner
		WHERE me.rolname OPERATOR(pg_catalog.=) CURRENT_USER AND NOT (
			owner.rolsuper OR owner.oid OPERATOR(pg_catalog.=) me.oid
			OR owner.oid OPERATOR(pg_catalog.=) n.nspowner OR owner.oid OPERATOR(pg_catalog.=) d.datdba
			OR NOT me.rolsuper AND pg_catalog.pg_has_role(owner.oid, 'USAGE'));
	IF problem IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
			MESSAGE = pg_catalog.concat('{name}: the table ', {leases text}, ' belongs to the role ', problem),
			HINT = 'Drop it if you do not know it, or let the owner of the schema or of the database own it.';
	END IF;
END {quote}`

// The lock is that of the function that issues IDs, which does not wait for it in the usual case. The horizon is the
// first tick without an ID of the last owner. The word is set to the last sequence of the tick before, so that the next
// ID is of the horizon, and calls of nextval that come first end in the guard. A later version that marks the namespace
// waits for FOR SHARE, so it finds the row.
const postgresReserve = `DO {quote}
DECLARE
	layout_found pg_catalog.text;
	protocol_found bigint;
	row_found pg_catalog.record;
	now_ms bigint;
	spent bigint;
BEGIN
	INSERT INTO {leases} (namespace, worker, epoch, token, horizon, expires_ms, revision, layout, host, pid, version)
		VALUES ({namespace}, -1, 0, '', 0, 0, 0, {definition}, '', 0, '') ON CONFLICT DO NOTHING;
	SELECT layout, protocol INTO STRICT layout_found, protocol_found
		FROM {leases} WHERE namespace {=} {namespace} AND worker {=} -1 FOR SHARE;
	IF protocol_found {>} 2 OR protocol_found {>} 1 AND NOT EXISTS (SELECT FROM {leases}
			WHERE namespace {=} {namespace} AND worker {=} {worker} AND token {=} {token} AND host {=} {host}) THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('{name}: the namespace ', {namespace}, ' requires version ', protocol_found,
				' of the lease protocol');
	ELSIF layout_found {<>} {definition} THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('{name}: the namespace ', {namespace}, ' has leases of another layout: ', layout_found);
	END IF;
	INSERT INTO {leases} (namespace, worker, epoch, token, horizon, expires_ms, revision, layout, host, pid, version)
		VALUES ({namespace}, {worker}, 1, {token}, 0, {expires}, 0, {definition}, {host}, 0, {version})
		ON CONFLICT DO NOTHING;
	SELECT token, expires_ms, horizon, host INTO STRICT row_found
		FROM {leases} WHERE namespace {=} {namespace} AND worker {=} {worker} FOR UPDATE;
	now_ms := pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp()) {*} 1000);
	IF row_found.token {=} {token} AND row_found.host {=} {host} THEN
		RETURN;
	ELSIF row_found.token {=} {token} THEN
		RAISE EXCEPTION USING ERRCODE = 'object_in_use',
			MESSAGE = pg_catalog.concat('{name}: worker {worker} is reserved in the namespace ', {namespace}, ' for the ',
				row_found.host),
			HINT = 'Two functions that issue IDs need two workers.';
	ELSIF row_found.expires_ms {>} now_ms THEN
		RAISE EXCEPTION USING ERRCODE = 'object_in_use',
			MESSAGE = pg_catalog.concat('{name}: worker {worker} is leased in the namespace ', {namespace}, ' for another ',
				row_found.expires_ms {-} now_ms, ' ms at least');
	END IF;
	UPDATE {leases} SET epoch = epoch {+} 1, token = {token}, expires_ms = {expires}, revision = revision {+} 1,
		host = {host}, pid = 0, version = {version} WHERE namespace {=} {namespace} AND worker {=} {worker};
	PERFORM pg_catalog.pg_advisory_xact_lock('pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid::int,
		{state text}::pg_catalog.regclass::pg_catalog.oid::int);
	spent := ((row_found.horizon {-} 1) {<<} {low}) {|} {sequence max};
	IF spent {>} (SELECT last_value FROM {state}) THEN
		PERFORM pg_catalog.setval({state text}, spent);
	END IF;
END {quote}`
