DO {quote}
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
END {quote}
