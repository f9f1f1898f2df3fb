WITH located AS MATERIALIZED (
	SELECT n.nspname,
		pg_catalog.hashtextextended(pg_catalog.format('sqlflake/partition %s %I.%I', $3::pg_catalog.text, n.nspname,
			c.relname), 0) AS key
	FROM pg_catalog.pg_class AS c
	JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
	WHERE c.relname OPERATOR(pg_catalog.=) $1::pg_catalog.text
		AND CASE WHEN $2::pg_catalog.text OPERATOR(pg_catalog.=) '' THEN pg_catalog.pg_table_is_visible(c.oid)
			ELSE n.nspname OPERATOR(pg_catalog.=) $2::pg_catalog.text END
	LIMIT 1
)
SELECT nspname,
	CASE WHEN $3::pg_catalog.text IS NULL THEN true ELSE pg_catalog.pg_try_advisory_xact_lock(key) END,
	pg_catalog.concat(
		pg_catalog.set_config('lock_timeout', $4::pg_catalog.text, true),
		pg_catalog.set_config('idle_in_transaction_session_timeout', $5::pg_catalog.text, true),
		pg_catalog.set_config('row_security', 'off', true),
		pg_catalog.set_config('jit', 'off', true),
		pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true))
FROM located
