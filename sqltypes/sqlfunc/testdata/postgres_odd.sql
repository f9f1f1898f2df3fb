DO $sqlfunc$
DECLARE
	registered oid[];
	layout_found text;
	other name;
BEGIN
	IF pg_catalog.current_setting('server_version_num')::int < 140000 THEN
		RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
			MESSAGE = 'snowflake: the functions need PostgreSQL 14, whose EXTRACT is exact';
	END IF;
	PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('"public".snowflake_layout()', 0));
	registered := pg_catalog.array_remove(ARRAY[
		pg_catalog.to_regprocedure('"public".snowflake_next()'),
		pg_catalog.to_regprocedure('"public".snowflake_parts(bigint)'),
		pg_catalog.to_regprocedure('"public".snowflake_text_time(text)'),
		pg_catalog.to_regprocedure('"public".snowflake_text_min(timestamptz)'),
		pg_catalog.to_regprocedure('"public".snowflake_uuid_time(text)'),
		pg_catalog.to_regprocedure('"public".snowflake_uuid_min(timestamptz)'),
		pg_catalog.to_regprocedure('"public".snowflake_min(timestamptz)'),
		pg_catalog.to_regprocedure('"public".snowflake_time(bigint)'),
		pg_catalog.to_regprocedure('"public".snowflake_layout()')
	]::oid[], NULL);
	SELECT coalesce(substring(prosrc FROM '^[[:space:]]*SELECT ''([^'']*)''::text[[:space:]]*$'), 'unknown') INTO layout_found
		FROM pg_catalog.pg_proc WHERE oid = pg_catalog.to_regprocedure('"public".snowflake_layout()');
	IF layout_found IS NULL AND registered <> '{}' THEN
		layout_found := 'unknown';
	END IF;
	IF layout_found <> 'epoch=1969-12-31T23:59:59.123456789Z tick=7.919µs worker:3 time:52 sequence:8' THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_function',
			MESSAGE = 'snowflake functions of another layout are installed: ' || layout_found,
			HINT = 'Drop them first if no ID was made with them, or choose another name or schema.';
	END IF;
	SELECT rolname INTO other FROM (
			SELECT proowner, pronamespace FROM pg_catalog.pg_proc WHERE oid = ANY (registered)
			UNION SELECT relowner, relnamespace FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass('"public".snowflake_state')
		) AS there (owner, namespace)
		JOIN pg_catalog.pg_roles ON pg_roles.oid = owner JOIN pg_catalog.pg_namespace ON pg_namespace.oid = namespace
		WHERE rolname <> current_user AND NOT rolsuper AND owner <> nspowner
			AND (pg_catalog.current_setting('is_superuser') = 'on' OR NOT pg_catalog.pg_has_role(owner, 'USAGE'));
	IF other IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
			MESSAGE = 'snowflake: functions or the state belong to the role ' || other,
			HINT = 'Install as that role, or drop them first if you do not trust them.';
	END IF;
	IF EXISTS (SELECT FROM pg_catalog.pg_class LEFT JOIN pg_catalog.pg_sequence ON seqrelid = oid
		WHERE oid = pg_catalog.to_regclass('"public".snowflake_state') AND (relpersistence <> 'p' OR seqrelid IS NULL
			OR seqincrement <> 1 OR seqcache <> 1 OR seqcycle OR seqmin > 1 OR seqmax < 9223372036854775807)) THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_object',
			MESSAGE = 'snowflake_state exists and is not the sequence that the functions use';
	END IF;
END $sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_layout() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $sqlfunc$
	SELECT 'epoch=1969-12-31T23:59:59.123456789Z tick=7.919µs worker:3 time:52 sequence:8'::text
$sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_time(id bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $sqlfunc$
	SELECT (timestamp '1969-12-31 23:59:59.123456'
		+ make_interval(days => (((($1 >> 8) & 4503599627370495) * 7 + (($1 >> 8) & 4503599627370495) / 1000 * 919 + ((($1 >> 8) & 4503599627370495) % 1000 * 919 + 789) / 1000) / 86400000000)::int)
		+ interval '1 microsecond' * (((($1 >> 8) & 4503599627370495) * 7 + (($1 >> 8) & 4503599627370495) / 1000 * 919 + ((($1 >> 8) & 4503599627370495) % 1000 * 919 + 789) / 1000) % 86400000000)) AT TIME ZONE 'UTC'
$sqlfunc$;

CREATE OR REPLACE FUNCTION "public".snowflake_parts(_id bigint, OUT "worker" bigint, OUT "time" timestamptz, OUT "sequence" bigint)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $sqlfunc$
	SELECT (($1 >> 60) & 7), "public".snowflake_time($1), ($1 & 255)
$sqlfunc$;
