package sqlfunc

import (
	"strconv"

	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// postgresReserve returns the statements of WithLeaseTable.
func (f *Functions) postgresReserve() []string {
	schema, table := f.leases.schema(sqllease.Postgres)
	low, _ := f.wordBits()
	return []string{
		schema,
		f.fill(postgresReserve,
			"{leases}", table,
			"{namespace}", literalSQL(f.leases.namespace),
			"{worker}", strconv.FormatInt(f.worker, 10),
			"{token}", literalSQL(leaseToken),
			"{expires}", leaseExpires,
			"{host}", literalSQL(leaseHost+", "+f.qualified("next")),
			"{version}", literalSQL(leaseVersion),
			"{low}", strconv.Itoa(low)),
	}
}

// The lock is that of the function that issues IDs, which does not wait for it while
// nothing has to be done here. A horizon is the first tick that the owner
// before has no ID of. The word is put at the last sequence of the tick before, so that the next ID
// is of the horizon, and calls of nextval that come first end in the guard.
const postgresReserve = `DO {quote}
DECLARE
	layout_found text;
	row_found record;
	now_ms bigint;
	spent bigint;
BEGIN
	INSERT INTO {leases} (namespace, worker, epoch, token, horizon, expires_ms, revision, layout, host, pid, version)
		VALUES ({namespace}, -1, 0, '', 0, 0, 0, {definition}, '', 0, '') ON CONFLICT DO NOTHING;
	SELECT layout INTO STRICT layout_found FROM {leases} WHERE namespace = {namespace} AND worker = -1;
	IF layout_found <> {definition} THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = '{name}: the namespace ' || {namespace} || ' has leases of another layout: ' || layout_found;
	END IF;
	INSERT INTO {leases} (namespace, worker, epoch, token, horizon, expires_ms, revision, layout, host, pid, version)
		VALUES ({namespace}, {worker}, 1, {token}, 0, {expires}, 0, {definition}, {host}, 0, {version})
		ON CONFLICT DO NOTHING;
	SELECT token, expires_ms, horizon, host INTO STRICT row_found
		FROM {leases} WHERE namespace = {namespace} AND worker = {worker} FOR UPDATE;
	now_ms := pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000);
	IF row_found.token = {token} AND row_found.host = {host} THEN
		RETURN;
	ELSIF row_found.token = {token} THEN
		RAISE EXCEPTION USING ERRCODE = 'object_in_use',
			MESSAGE = '{name}: worker {worker} is reserved in the namespace ' || {namespace} || ' for the ' || row_found.host,
			HINT = 'Two functions that issue IDs need two workers.';
	ELSIF row_found.expires_ms > now_ms THEN
		RAISE EXCEPTION USING ERRCODE = 'object_in_use',
			MESSAGE = '{name}: worker {worker} is leased in the namespace ' || {namespace} || ' for another '
				|| row_found.expires_ms - now_ms || ' ms at least';
	END IF;
	UPDATE {leases} SET epoch = epoch + 1, token = {token}, expires_ms = {expires}, revision = revision + 1,
		host = {host}, pid = 0, version = {version} WHERE namespace = {namespace} AND worker = {worker};
	PERFORM pg_catalog.pg_advisory_xact_lock('pg_catalog.pg_class'::regclass::oid::int, {state text}::regclass::oid::int);
	spent := ((row_found.horizon - 1) << {low}) | {sequence max};
	IF spent > (SELECT last_value FROM {state}) THEN
		PERFORM pg_catalog.setval({state text}, spent);
	END IF;
END {quote}`
