DO {quote}
DECLARE
	path pg_catalog.text := pg_catalog.current_setting('search_path');
	registered pg_catalog.oid[];
	layout_found pg_catalog.text;
	other pg_catalog.name;
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	IF current_setting('server_version_num')::int < 140000 THEN
		RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
			MESSAGE = '{name}: the functions need PostgreSQL 14, whose EXTRACT is exact';
	END IF;
	PERFORM pg_advisory_xact_lock(hashtextextended({layout text} || '()', 0));
	registered := array_remove(ARRAY[
		to_regprocedure({next text} || '()'),
		to_regprocedure({parts text} || '(bigint)'),
		to_regprocedure({min text} || '(timestamp with time zone)'),
		to_regprocedure({time text} || '(bigint)'),
		to_regprocedure({layout text} || '()')
	]::oid[], NULL);
	SELECT coalesce(substring(prosrc FROM '^[[:space:]]*SELECT ''([^'']*)''::text[[:space:]]*$'), 'unknown') INTO layout_found
		FROM pg_proc WHERE oid = to_regprocedure({layout text} || '()');
	IF layout_found IS NULL AND registered <> '{}' THEN
		layout_found := 'unknown';
	END IF;
	IF layout_found <> {definition} THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_function',
			MESSAGE = '{name} functions of another layout are installed: ' || layout_found,
			HINT = 'Drop them first if no ID was made with them, or choose another name or schema.';
	END IF;
	SELECT rolname INTO other FROM (
			SELECT proowner, pronamespace FROM pg_proc WHERE oid = ANY (registered)
			UNION SELECT relowner, relnamespace FROM pg_class WHERE oid = to_regclass({state text})
		) AS there (owner, namespace)
		JOIN pg_roles ON pg_roles.oid = owner JOIN pg_namespace ON pg_namespace.oid = namespace
		WHERE rolname <> current_user AND NOT rolsuper AND owner <> nspowner
			AND (current_setting('is_superuser') = 'on' OR NOT pg_has_role(owner, 'USAGE'));
	IF other IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
			MESSAGE = '{name}: functions or the state belong to the role ' || other,
			HINT = 'Install as that role, or drop them first if you do not trust them.';
	END IF;
	IF EXISTS (SELECT FROM pg_class LEFT JOIN pg_sequence ON seqrelid = oid
		WHERE oid = to_regclass({state text}) AND (relpersistence <> 'p' OR seqrelid IS NULL
			OR seqincrement <> 1 OR seqcache <> 1 OR seqcycle OR seqmin > 1 OR seqmax < 9223372036854775807)) THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_object',
			MESSAGE = '{name}_state exists and is not the sequence that the functions use';
	END IF;
	PERFORM set_config('search_path', path, true);
END {quote}
