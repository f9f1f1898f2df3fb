WITH located AS MATERIALIZED (
	SELECT pg_catalog.hashtextextended(pg_catalog.format('sqlflake/partition %s %I.%I', $3::pg_catalog.text, n.nspname,
		c.relname), 0) AS key
	FROM pg_catalog.pg_class AS c
	JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
	WHERE c.relname OPERATOR(pg_catalog.=) $1::pg_catalog.text
		AND CASE WHEN $2::pg_catalog.text OPERATOR(pg_catalog.=) '' THEN pg_catalog.pg_table_is_visible(c.oid)
			ELSE n.nspname OPERATOR(pg_catalog.=) $2::pg_catalog.text END
	LIMIT 1
)
SELECT pg_catalog.pg_try_advisory_lock(key), key,
	pg_catalog.current_setting('lock_timeout'), pg_catalog.current_setting('idle_session_timeout')
FROM located
