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
		to_regprocedure('"public".snowflake_text_time(pg_catalog.text)'),
		to_regprocedure('"public".snowflake_text_min(timestamp with time zone)'),
		to_regprocedure('"public".snowflake_uuid_time(pg_catalog.text)'),
		to_regprocedure('"public".snowflake_uuid_min(timestamp with time zone)'),
		to_regprocedure('"public".snowflake_min(timestamp with time zone)'),
		to_regprocedure('"public".snowflake_time(bigint)'),
		to_regprocedure('"public".snowflake_layout()')
	]::oid[], NULL);
	SELECT coalesce(substring(prosrc FROM '^[[:space:]]*SELECT ''([^'']*)''::text[[:space:]]*$'), 'unknown') INTO layout_found
		FROM pg_proc WHERE oid = to_regprocedure('"public".snowflake_layout()');
	IF layout_found IS NULL AND registered <> '{}' THEN
		layout_found := 'unknown';
	END IF;
	IF layout_found <> 'epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12' THEN
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
	SELECT 'epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12'::text
$sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_time(id bigint) RETURNS timestamp with time zone
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $sqlfunc$
	SELECT ((timestamp '2025-01-01 00:00:00'
		OPERATOR(pg_catalog.+) pg_catalog.make_interval(days => (((($1 OPERATOR(pg_catalog.>>) 22) OPERATOR(pg_catalog.&) 2199023255551) OPERATOR(pg_catalog.*) 1000) OPERATOR(pg_catalog./) 86400000000)::int))
		OPERATOR(pg_catalog.+) (interval '1 microsecond' OPERATOR(pg_catalog.*) (((($1 OPERATOR(pg_catalog.>>) 22) OPERATOR(pg_catalog.&) 2199023255551) OPERATOR(pg_catalog.*) 1000) OPERATOR(pg_catalog.%) 86400000000))) AT TIME ZONE 'UTC'
$sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_parts(_id bigint, OUT "time" timestamp with time zone, OUT "worker" bigint, OUT "sequence" bigint)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $sqlfunc$
	SELECT "public".snowflake_time($1), (($1 OPERATOR(pg_catalog.>>) 12) OPERATOR(pg_catalog.&) 1023), ($1 OPERATOR(pg_catalog.&) 4095)
$sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_min(instant timestamp with time zone) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $sqlfunc$
BEGIN
	IF instant < timestamptz '2025-01-01 00:00:00+00' THEN
		RAISE EXCEPTION USING ERRCODE = 'datetime_field_overflow',
			MESSAGE = format('snowflake_min: %s is before the epoch, 2025-01-01 00:00:00 UTC', instant AT TIME ZONE 'UTC');
	END IF;
	IF instant >= timestamptz '2094-09-07 15:47:35.552+00' THEN
		RAISE EXCEPTION USING ERRCODE = 'datetime_field_overflow',
			MESSAGE = format('snowflake_min: %s is not before the end, 2094-09-07 15:47:35.552 UTC', instant AT TIME ZONE 'UTC');
	END IF;
	RETURN (((extract(epoch FROM instant AT TIME ZONE 'UTC') * 1000000)::bigint - 1735689600000000) / 1000) << 22;
END $sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_uuid_min(instant timestamp with time zone) RETURNS pg_catalog.uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $sqlfunc$
	SELECT (left(digits, 12) || '8' || substr(digits, 13, 3) || to_hex(130 + ((id & 15) << 2)) || repeat('0', 14))::uuid
	FROM "public".snowflake_min($1) AS id, encode(int8send(id), 'hex') AS digits
$sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_uuid_time(key pg_catalog.text) RETURNS timestamp with time zone
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $sqlfunc$
DECLARE
	digits text COLLATE "C" := key::uuid;
	bits bit(128) := 'x' || replace(digits, '-', '');
BEGIN
	IF digits !~ '^[0-7].{7}-.{4}-8.{3}-[89ab][26ae]00-0{12}$' THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_text_representation',
			MESSAGE = format('snowflake_uuid_time: %s is not the UUID of an ID', digits);
	END IF;
	RETURN "public".snowflake_time((substring(bits FOR 48) || substring(bits FROM 53 FOR 12) || substring(bits FROM 67 FOR 4))::bit(64)::bigint);
END $sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_text_min(instant timestamp with time zone) RETURNS pg_catalog.text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $sqlfunc$
	SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((id >> shift) & 31)::int + 1, 1), '' ORDER BY shift DESC)
	FROM "public".snowflake_min($1) AS id, generate_series(0, 60, 5) AS shift
$sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_text_time(key pg_catalog.text) RETURNS timestamp with time zone
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $sqlfunc$
BEGIN
	IF key COLLATE "C" !~ '^[0-9A-F][0123456789ABCDEFGHJKMNPQRSTVWXYZ]{12}$' THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_text_representation',
			MESSAGE = format('snowflake_text_time: %s is not the text of an ID', quote_literal(left(key, 64)));
	END IF;
	RETURN "public".snowflake_time((
		SELECT bit_or((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(key COLLATE "C", 13 - shift / 5, 1)) - 1)::bigint << shift)
		FROM generate_series(0, 60, 5) AS shift));
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
		now_tick := (((extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 1735689600000000 + 1000) / 1000) - 1;
		word := pg_sequence_last_value('"public".snowflake_state');
		IF now_tick >= 0 AND (word >> 19) BETWEEN now_tick AND now_tick + 10000
			AND (word & 524287) < 4095 THEN
			word := nextval('"public".snowflake_state');
			IF (word & 524287) <= 4095 THEN
				RETURN ((word >> 19) << 22) | (word & 4095) | 4190208;
			END IF;
		END IF;
		BEGIN
			PERFORM pg_advisory_xact_lock('pg_class'::regclass::oid::int, '"public".snowflake_state'::regclass::oid::int);
			word := (SELECT last_value FROM "public".snowflake_state);
			now_tick := (((extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 1735689600000000 + 1000) / 1000) - 1;
			tick := word >> 19;
			IF now_tick >= 0 AND tick BETWEEN now_tick AND now_tick + 10000 AND (word & 524287) < 4095 THEN
				word := nextval('"public".snowflake_state');
				IF (word & 524287) <= 4095 THEN
					claimed := word;
				END IF;
			END IF;
			IF claimed IS NULL THEN
				tick := greatest(tick + 1, now_tick);
				IF now_tick >= 0 AND tick <= now_tick + 10000 AND tick <= 2199023255551 THEN
					claimed := setval('"public".snowflake_state', tick << 19);
				END IF;
			END IF;
			RAISE SQLSTATE 'SF001';
		EXCEPTION WHEN SQLSTATE 'SF001' THEN
			NULL;
		END;
		IF claimed IS NOT NULL THEN
			RETURN ((claimed >> 19) << 22) | (claimed & 4095) | 4190208;
		ELSIF now_tick < 0 THEN
			RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
				MESSAGE = 'snowflake_next: the clock is before the epoch, 2025-01-01 00:00:00 UTC';
		ELSIF greatest(tick, now_tick) > 2199023255551 THEN
			RAISE EXCEPTION USING ERRCODE = 'sequence_generator_limit_exceeded',
				MESSAGE = 'snowflake_next: the time of the layout is exhausted, it ends at 2094-09-07 15:47:35.552 UTC';
		ELSIF tick - now_tick - 10000 > 1000 THEN
			RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
				MESSAGE = format('snowflake_next: the IDs are %s s ahead of the clock, 10s is the lead',
					(tick - now_tick) * 0.001),
				HINT = 'Was the clock set back? IDs are issued again when it has caught up.';
		END IF;
		PERFORM pg_sleep(((tick - now_tick - 10000) * 0.001)::double precision);
	END LOOP;
END $sqlfunc$;
