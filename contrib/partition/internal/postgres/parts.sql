SELECT c.oid::int8, n.nspname, c.relname, c.relkind IN ('p', 'f'), coalesce(pg_get_expr(c.relpartbound, 0), ''),
	c.reltuples::int8,
	CASE WHEN EXISTS (
		SELECT FROM pg_locks AS l WHERE l.mode = 'AccessExclusiveLock'
			AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND (l.relation IN (c.oid, c.reltoastrelid)
				OR l.relation IN (SELECT indexrelid FROM pg_index WHERE indrelid IN (c.oid, c.reltoastrelid)))
	) THEN -1 ELSE coalesce(pg_total_relation_size(c.oid), -1) END,
	i.inhdetachpending, coalesce(obj_description(c.oid, 'pg_class'), '')
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE i.inhparent = $1::int8::oid
