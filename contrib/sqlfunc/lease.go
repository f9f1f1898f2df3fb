package sqlfunc

import (
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
const postgresLeases = `DO {quote}
DECLARE
	leases pg_catalog.oid;
	namespaces pg_catalog.oid;
	problem pg_catalog.text;
BEGIN
	PERFORM pg_catalog.pg_advisory_xact_lock(8317708120410055019);
	leases := pg_catalog.to_regclass({leases text});
	namespaces := pg_catalog.to_regclass({namespaces text});
	IF leases IS NULL AND namespaces IS NULL THEN
		SELECT pg_catalog.string_agg(pg_catalog.concat(n.nspname, '.', c.relname), ', ') INTO problem
			FROM pg_catalog.pg_class AS c
			JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			WHERE c.relname OPERATOR(pg_catalog.=) ANY ({lease names})
				AND pg_catalog.strpos({leases text}, '.') OPERATOR(pg_catalog.=) 0
				AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,f}') AND c.relpersistence OPERATOR(pg_catalog.<>) 't';
		IF problem IS NOT NULL THEN
			RAISE EXCEPTION USING ERRCODE = 'duplicate_table',
				MESSAGE = pg_catalog.concat('{name}: this database has ', problem, ', which is not what ', {leases text},
					' means on this connection'),
				HINT = 'Functions and leases must use one pair of tables: name the schema in WithLeaseTables, and grant USAGE on it.';
		END IF;
		{create};
		RETURN;
	END IF;
	IF leases IS NULL OR namespaces IS NULL OR EXISTS (SELECT FROM pg_catalog.pg_class AS a, pg_catalog.pg_class AS b
			WHERE a.oid OPERATOR(pg_catalog.=) leases AND b.oid OPERATOR(pg_catalog.=) namespaces
				AND a.relnamespace OPERATOR(pg_catalog.<>) b.relnamespace) THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('{name}: one of the tables ', {leases text}, ' and ', {namespaces text},
				' is missing, or in another schema'),
			HINT = 'Restore it: without it IDs may repeat.';
	END IF;
	SELECT pg_catalog.concat(c.relname, ' belongs to the role ', owner.rolname) INTO problem
		FROM pg_catalog.pg_roles AS me
		JOIN pg_catalog.pg_database AS d ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
		JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) leases OR c.oid OPERATOR(pg_catalog.=) namespaces
		JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		JOIN pg_catalog.pg_roles AS owner ON owner.oid OPERATOR(pg_catalog.=) c.relowner
		WHERE me.rolname OPERATOR(pg_catalog.=) CURRENT_USER AND NOT (
			owner.rolsuper OR owner.oid OPERATOR(pg_catalog.=) me.oid
			OR owner.oid OPERATOR(pg_catalog.=) n.nspowner OR owner.oid OPERATOR(pg_catalog.=) d.datdba
			OR NOT me.rolsuper AND pg_catalog.pg_has_role(owner.oid, 'USAGE'))
		LIMIT 1;
	IF problem IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
			MESSAGE = pg_catalog.concat('{name}: the table ', problem),
			HINT = 'Drop it if you do not know it, or let the owner of the schema or of the database own it.';
	END IF;
END {quote}`

// It takes the lock of the function that issues IDs, which usually does not wait for it. The horizon is the
// first tick without an ID of the last owner. The word is set to the last sequence of the tick before, so that the next
// ID is of the horizon, and calls of nextval that come first end in the guard. The lock of the namespace's row keeps a
// share, a move and a later version waiting, so they find the row.
const postgresReserve = `DO {quote}
DECLARE
	namespace_found pg_catalog.record;
	row_found pg_catalog.record;
	now_ms bigint;
	spent bigint;
BEGIN
	INSERT INTO {namespaces} (namespace, protocol, layout, generation, start_tick, first_worker, last_worker, has_leases,
		server, server_since_ms, reach_ms, reach_before_ms, reach_since_ms, revision)
		SELECT {namespace}, 1, {definition}, 0, 0, 0, 9223372036854775807, 0, '', 0, 0, 0, 0, 0
		WHERE NOT EXISTS (SELECT FROM {leases} WHERE namespace {=} {namespace})
		ON CONFLICT DO NOTHING;
	SELECT protocol, layout, generation, start_tick, first_worker, last_worker INTO namespace_found
		FROM {namespaces} WHERE namespace {=} {namespace} FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('{name}: the namespace ', {namespace}, ' is missing, and has leases');
	ELSIF namespace_found.protocol {>} 1 THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('{name}: the namespace ', {namespace}, ' requires version ', namespace_found.protocol,
				' of the lease protocol');
	ELSIF namespace_found.layout {<>} {definition} THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('{name}: the namespace ', {namespace}, ' has leases of another layout: ',
				namespace_found.layout);
	ELSIF namespace_found.first_worker {>} {worker} OR namespace_found.last_worker {<} {worker} THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('{name}: worker {worker} is outside of the share of the namespace ', {namespace}, ', ',
				namespace_found.first_worker, ' to ', namespace_found.last_worker);
	END IF;
	INSERT INTO {leases} (namespace, worker, epoch, token, horizon, expires_ms, generation, reserved_for, host, pid, version,
		revision)
		VALUES ({namespace}, {worker}, 1, '', namespace_found.start_tick, 0, namespace_found.generation, {purpose}, {host}, 0,
			{version}, 0)
		ON CONFLICT DO NOTHING;
	UPDATE {namespaces} SET has_leases = 1, revision = revision {+} 1 WHERE namespace {=} {namespace} AND has_leases {=} 0;
	SELECT reserved_for, expires_ms, horizon, host INTO STRICT row_found
		FROM {leases} WHERE namespace {=} {namespace} AND worker {=} {worker} FOR UPDATE;
	now_ms := pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp()) {*} 1000);
	IF row_found.reserved_for {=} {purpose} AND row_found.host {=} {host} THEN
		IF row_found.horizon {<=} 0 THEN
			RETURN;
		END IF;
	ELSIF row_found.reserved_for {<>} '' THEN
		RAISE EXCEPTION USING ERRCODE = 'object_in_use',
			MESSAGE = pg_catalog.concat('{name}: worker {worker} is reserved in the namespace ', {namespace}, ' for ',
				row_found.reserved_for, ' ', row_found.host),
			HINT = 'Two functions that issue IDs need two workers.';
	ELSIF row_found.expires_ms {>} now_ms THEN
		RAISE EXCEPTION USING ERRCODE = 'object_in_use',
			MESSAGE = pg_catalog.concat('{name}: worker {worker} is leased in the namespace ', {namespace}, ' for another ',
				row_found.expires_ms {-} now_ms, ' ms at least');
	ELSE
		UPDATE {leases} SET epoch = epoch {+} 1, token = '', expires_ms = 0, reserved_for = {purpose}, revision = revision {+} 1,
			host = {host}, pid = 0, version = {version} WHERE namespace {=} {namespace} AND worker {=} {worker};
	END IF;
	PERFORM pg_catalog.pg_advisory_xact_lock('pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid::int,
		{state text}::pg_catalog.regclass::pg_catalog.oid::int);
	spent := ((row_found.horizon {-} 1) {<<} {low}) {|} {sequence max};
	IF spent {>} (SELECT last_value FROM {state}) THEN
		PERFORM pg_catalog.setval({state text}, spent);
	END IF;
END {quote}`
