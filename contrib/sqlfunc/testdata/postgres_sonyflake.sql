DO $sqlfunc$
DECLARE
	path pg_catalog.text := pg_catalog.current_setting('search_path');
	registered pg_catalog.oid[];
	layout_found pg_catalog.text;
	other pg_catalog.name;
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	IF current_setting('server_version_num')::int < 140000 THEN
		RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
			MESSAGE = 'snowflake: the functions need PostgreSQL 14, whose EXTRACT is exact';
	END IF;
	PERFORM pg_advisory_xact_lock(hashtextextended('"public".snowflake_layout()', 0));
	registered := array_remove(ARRAY[
		to_regprocedure('"public".snowflake_next()'),
		to_regprocedure('"public".snowflake_parts(bigint)'),
		to_regprocedure('"public".snowflake_min(timestamp with time zone)'),
		to_regprocedure('"public".snowflake_time(bigint)'),
		to_regprocedure('"public".snowflake_layout()')
	]::oid[], NULL);
	SELECT coalesce(substring(prosrc FROM '^[[:space:]]*SELECT ''([^'']*)''::text[[:space:]]*$'), 'unknown') INTO layout_found
		FROM pg_proc WHERE oid = to_regprocedure('"public".snowflake_layout()');
	IF layout_found IS NULL AND registered <> '{}' THEN
		layout_found := 'unknown';
	END IF;
	IF layout_found <> 'epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16' THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_function',
			MESSAGE = 'snowflake functions of another layout are installed: ' || layout_found,
			HINT = 'Drop them first if no ID was made with them, or choose another name or schema.';
	END IF;
	SELECT rolname INTO other FROM (
			SELECT proowner, pronamespace FROM pg_proc WHERE oid = ANY (registered)
			UNION SELECT relowner, relnamespace FROM pg_class WHERE oid = to_regclass('"public".snowflake_state')
		) AS there (owner, namespace)
		JOIN pg_roles ON pg_roles.oid = owner JOIN pg_namespace ON pg_namespace.oid = namespace
		WHERE rolname <> current_user AND NOT rolsuper AND owner <> nspowner
			AND (current_setting('is_superuser') = 'on' OR NOT pg_has_role(owner, 'USAGE'));
	IF other IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
			MESSAGE = 'snowflake: functions or the state belong to the role ' || other,
			HINT = 'Install as that role, or drop them first if you do not trust them.';
	END IF;
	IF EXISTS (SELECT FROM pg_class LEFT JOIN pg_sequence ON seqrelid = oid
		WHERE oid = to_regclass('"public".snowflake_state') AND (relpersistence <> 'p' OR seqrelid IS NULL
			OR seqincrement <> 1 OR seqcache <> 1 OR seqcycle OR seqmin > 1 OR seqmax < 9223372036854775807)) THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_object',
			MESSAGE = 'snowflake_state exists and is not the sequence that the functions use';
	END IF;
	PERFORM set_config('search_path', path, true);
END $sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_layout() RETURNS pg_catalog.text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $sqlfunc$
	SELECT 'epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16'::text
$sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_time(id bigint) RETURNS timestamp with time zone
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $sqlfunc$
	SELECT ((timestamp '2014-09-01 00:00:00'
		OPERATOR(pg_catalog.+) pg_catalog.make_interval(days => (((($1 OPERATOR(pg_catalog.>>) 24) OPERATOR(pg_catalog.&) 549755813887) OPERATOR(pg_catalog.*) 10000) OPERATOR(pg_catalog./) 86400000000)::int))
		OPERATOR(pg_catalog.+) (interval '1 microsecond' OPERATOR(pg_catalog.*) (((($1 OPERATOR(pg_catalog.>>) 24) OPERATOR(pg_catalog.&) 549755813887) OPERATOR(pg_catalog.*) 10000) OPERATOR(pg_catalog.%) 86400000000))) AT TIME ZONE 'UTC'
$sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_parts(_id bigint, OUT "time" timestamp with time zone, OUT "sequence" bigint, OUT "machine" bigint)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $sqlfunc$
	SELECT "public".snowflake_time($1), (($1 OPERATOR(pg_catalog.>>) 16) OPERATOR(pg_catalog.&) 255), ($1 OPERATOR(pg_catalog.&) 65535)
$sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_min(instant timestamp with time zone) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $sqlfunc$
BEGIN
	IF instant < timestamptz '2014-09-01 00:00:00+00' THEN
		RAISE EXCEPTION USING ERRCODE = 'datetime_field_overflow',
			MESSAGE = format('snowflake_min: %s is before the epoch, 2014-09-01 00:00:00 UTC', instant AT TIME ZONE 'UTC');
	END IF;
	IF instant >= timestamptz '2188-11-16 03:28:58.88+00' THEN
		RAISE EXCEPTION USING ERRCODE = 'datetime_field_overflow',
			MESSAGE = format('snowflake_min: %s is not before the end, 2188-11-16 03:28:58.88 UTC', instant AT TIME ZONE 'UTC');
	END IF;
	RETURN (((extract(epoch FROM instant AT TIME ZONE 'UTC') * 1000000)::bigint - 1409529600000000) / 10000) << 24;
END $sqlfunc$;

CREATE SEQUENCE IF NOT EXISTS "public".snowflake_state;

CREATE OR REPLACE FUNCTION "public".snowflake_next() RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $sqlfunc$
DECLARE
	word bigint;
	claimed bigint;
	tick bigint;
	now_tick bigint;
BEGIN
	LOOP
		now_tick := (((extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 1409529600000000 + 10000) / 10000) - 1;
		word := pg_sequence_last_value('"public".snowflake_state');
		IF now_tick >= 0 AND (word >> 19) BETWEEN now_tick AND now_tick + 1000
			AND (word & 524287) < 255 THEN
			word := nextval('"public".snowflake_state');
			IF (word & 524287) <= 255 THEN
				RETURN ((word >> 19) << 24) | ((word & 255) << 16) | 65535;
			END IF;
		END IF;
		BEGIN
			PERFORM pg_advisory_xact_lock('pg_class'::regclass::oid::int, '"public".snowflake_state'::regclass::oid::int);
			word := (SELECT last_value FROM "public".snowflake_state);
			now_tick := (((extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 1409529600000000 + 10000) / 10000) - 1;
			tick := word >> 19;
			IF now_tick >= 0 AND tick BETWEEN now_tick AND now_tick + 1000 AND (word & 524287) < 255 THEN
				word := nextval('"public".snowflake_state');
				IF (word & 524287) <= 255 THEN
					claimed := word;
				END IF;
			END IF;
			IF claimed IS NULL THEN
				tick := greatest(tick + 1, now_tick);
				IF now_tick >= 0 AND tick <= now_tick + 1000 AND tick <= 549755813887 THEN
					claimed := setval('"public".snowflake_state', tick << 19);
				END IF;
			END IF;
			RAISE SQLSTATE 'SF001';
		EXCEPTION WHEN SQLSTATE 'SF001' THEN
			NULL;
		END;
		IF claimed IS NOT NULL THEN
			RETURN ((claimed >> 19) << 24) | ((claimed & 255) << 16) | 65535;
		ELSIF now_tick < 0 THEN
			RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
				MESSAGE = 'snowflake_next: the clock is before the epoch, 2014-09-01 00:00:00 UTC';
		ELSIF greatest(tick, now_tick) > 549755813887 THEN
			RAISE EXCEPTION USING ERRCODE = 'sequence_generator_limit_exceeded',
				MESSAGE = 'snowflake_next: the time of the layout is exhausted, it ends at 2188-11-16 03:28:58.88 UTC';
		ELSIF tick - now_tick - 1000 > 100 THEN
			RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
				MESSAGE = format('snowflake_next: the IDs are %s s ahead of the clock, 10s is the lead',
					(tick - now_tick) * 0.01),
				HINT = 'Was the clock set back? IDs are issued again when it has caught up.';
		END IF;
		PERFORM pg_sleep(((tick - now_tick - 1000) * 0.01)::double precision);
	END LOOP;
END $sqlfunc$;

DO $sqlfunc$
DECLARE
	leases pg_catalog.oid;
	namespaces pg_catalog.oid;
	problem pg_catalog.text;
BEGIN
	PERFORM pg_catalog.pg_advisory_xact_lock(8317708120410055019);
	leases := pg_catalog.to_regclass('"jobs"."shop_leases"');
	namespaces := pg_catalog.to_regclass('"jobs"."shop_namespaces"');
	IF leases IS NULL AND namespaces IS NULL THEN
		SELECT pg_catalog.string_agg(pg_catalog.concat(n.nspname, '.', c.relname), ', ') INTO problem
			FROM pg_catalog.pg_class AS c
			JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			WHERE c.relname OPERATOR(pg_catalog.=) ANY ('{shop_namespaces,shop_leases}')
				AND pg_catalog.strpos('"jobs"."shop_leases"', '.') OPERATOR(pg_catalog.=) 0
				AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,f}') AND c.relpersistence OPERATOR(pg_catalog.<>) 't';
		IF problem IS NOT NULL THEN
			RAISE EXCEPTION USING ERRCODE = 'duplicate_table',
				MESSAGE = pg_catalog.concat('snowflake: this database has ', problem, ', which is not what ', '"jobs"."shop_leases"',
					' means on this connection'),
				HINT = 'Functions and leases must use one pair of tables: name the schema in WithLeaseTables, and grant USAGE on it.';
		END IF;
		CREATE TABLE IF NOT EXISTS "jobs"."shop_namespaces" (
	namespace pg_catalog.text NOT NULL,
	protocol bigint NOT NULL,
	layout pg_catalog.text NOT NULL,
	generation bigint NOT NULL,
	start_tick bigint NOT NULL,
	first_worker bigint NOT NULL,
	last_worker bigint NOT NULL,
	has_leases bigint NOT NULL,
	server pg_catalog.text NOT NULL,
	server_since_ms bigint NOT NULL,
	reach_ms bigint NOT NULL,
	reach_before_ms bigint NOT NULL,
	reach_since_ms bigint NOT NULL,
	revision bigint NOT NULL,
	PRIMARY KEY (namespace)
);
CREATE TABLE IF NOT EXISTS "jobs"."shop_leases" (
	namespace pg_catalog.text NOT NULL,
	worker bigint NOT NULL,
	epoch bigint NOT NULL,
	token pg_catalog.text NOT NULL,
	horizon bigint NOT NULL,
	expires_ms bigint NOT NULL,
	generation bigint NOT NULL,
	reserved_for pg_catalog.text NOT NULL,
	host pg_catalog.text NOT NULL,
	pid bigint NOT NULL,
	version pg_catalog.text NOT NULL,
	revision bigint NOT NULL,
	PRIMARY KEY (namespace, worker)
);
		RETURN;
	END IF;
	IF leases IS NULL OR namespaces IS NULL OR EXISTS (SELECT FROM pg_catalog.pg_class AS a, pg_catalog.pg_class AS b
			WHERE a.oid OPERATOR(pg_catalog.=) leases AND b.oid OPERATOR(pg_catalog.=) namespaces
				AND a.relnamespace OPERATOR(pg_catalog.<>) b.relnamespace) THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('snowflake: one of the tables ', '"jobs"."shop_leases"', ' and ', '"jobs"."shop_namespaces"',
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
			MESSAGE = pg_catalog.concat('snowflake: the table ', problem),
			HINT = 'Drop it if you do not know it, or let the owner of the schema or of the database own it.';
	END IF;
END $sqlfunc$;

DO $sqlfunc$
DECLARE
	namespace_found pg_catalog.record;
	row_found pg_catalog.record;
	now_ms bigint;
	spent bigint;
BEGIN
	INSERT INTO "jobs"."shop_namespaces" (namespace, protocol, layout, generation, start_tick, first_worker, last_worker, has_leases,
		server, server_since_ms, reach_ms, reach_before_ms, reach_since_ms, revision)
		SELECT 'o''clock', 1, 'epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16', 0, 0, 0, 9223372036854775807, 0, '', 0, 0, 0, 0, 0
		WHERE NOT EXISTS (SELECT FROM "jobs"."shop_leases" WHERE namespace OPERATOR(pg_catalog.=) 'o''clock')
		ON CONFLICT DO NOTHING;
	SELECT protocol, layout, generation, start_tick, first_worker, last_worker INTO namespace_found
		FROM "jobs"."shop_namespaces" WHERE namespace OPERATOR(pg_catalog.=) 'o''clock' FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('snowflake: the namespace ', 'o''clock', ' is missing, and has leases');
	ELSIF namespace_found.protocol OPERATOR(pg_catalog.>) 1 THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('snowflake: the namespace ', 'o''clock', ' requires version ', namespace_found.protocol,
				' of the lease protocol');
	ELSIF namespace_found.layout OPERATOR(pg_catalog.<>) 'epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16' THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('snowflake: the namespace ', 'o''clock', ' has leases of another layout: ',
				namespace_found.layout);
	ELSIF namespace_found.first_worker OPERATOR(pg_catalog.>) 65535 OR namespace_found.last_worker OPERATOR(pg_catalog.<) 65535 THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('snowflake: worker 65535 is outside of the share of the namespace ', 'o''clock', ', ',
				namespace_found.first_worker, ' to ', namespace_found.last_worker);
	END IF;
	INSERT INTO "jobs"."shop_leases" (namespace, worker, epoch, token, horizon, expires_ms, generation, reserved_for, host, pid, version,
		revision)
		VALUES ('o''clock', 65535, 1, '', namespace_found.start_tick, 0, namespace_found.generation, 'SQL functions', '"public".snowflake_next', 0,
			'sqlfunc', 0)
		ON CONFLICT DO NOTHING;
	UPDATE "jobs"."shop_namespaces" SET has_leases = 1, revision = revision OPERATOR(pg_catalog.+) 1 WHERE namespace OPERATOR(pg_catalog.=) 'o''clock' AND has_leases OPERATOR(pg_catalog.=) 0;
	SELECT reserved_for, expires_ms, horizon, host INTO STRICT row_found
		FROM "jobs"."shop_leases" WHERE namespace OPERATOR(pg_catalog.=) 'o''clock' AND worker OPERATOR(pg_catalog.=) 65535 FOR UPDATE;
	now_ms := pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000);
	IF row_found.reserved_for OPERATOR(pg_catalog.=) 'SQL functions' AND row_found.host OPERATOR(pg_catalog.=) '"public".snowflake_next' THEN
		IF row_found.horizon OPERATOR(pg_catalog.<=) 0 THEN
			RETURN;
		END IF;
	ELSIF row_found.reserved_for OPERATOR(pg_catalog.<>) '' THEN
		RAISE EXCEPTION USING ERRCODE = 'object_in_use',
			MESSAGE = pg_catalog.concat('snowflake: worker 65535 is reserved in the namespace ', 'o''clock', ' for ',
				row_found.reserved_for, ' ', row_found.host),
			HINT = 'Two functions that issue IDs need two workers.';
	ELSIF row_found.expires_ms OPERATOR(pg_catalog.>) now_ms THEN
		RAISE EXCEPTION USING ERRCODE = 'object_in_use',
			MESSAGE = pg_catalog.concat('snowflake: worker 65535 is leased in the namespace ', 'o''clock', ' for another ',
				row_found.expires_ms OPERATOR(pg_catalog.-) now_ms, ' ms at least');
	ELSE
		UPDATE "jobs"."shop_leases" SET epoch = epoch OPERATOR(pg_catalog.+) 1, token = '', expires_ms = 0, reserved_for = 'SQL functions', revision = revision OPERATOR(pg_catalog.+) 1,
			host = '"public".snowflake_next', pid = 0, version = 'sqlfunc' WHERE namespace OPERATOR(pg_catalog.=) 'o''clock' AND worker OPERATOR(pg_catalog.=) 65535;
	END IF;
	PERFORM pg_catalog.pg_advisory_xact_lock('pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid::int,
		'"public".snowflake_state'::pg_catalog.regclass::pg_catalog.oid::int);
	spent := ((row_found.horizon OPERATOR(pg_catalog.-) 1) OPERATOR(pg_catalog.<<) 19) OPERATOR(pg_catalog.|) 255;
	IF spent OPERATOR(pg_catalog.>) (SELECT last_value FROM "public".snowflake_state) THEN
		PERFORM pg_catalog.setval('"public".snowflake_state', spent);
	END IF;
END $sqlfunc$;
