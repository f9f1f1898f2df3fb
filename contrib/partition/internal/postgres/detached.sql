SELECT c.oid::int8, n.nspname, c.relname, c.reltuples::int8,
	CASE WHEN EXISTS (
		SELECT FROM pg_locks AS l WHERE l.mode = 'AccessExclusiveLock'
			AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND (l.relation IN (c.oid, c.reltoastrelid)
				OR l.relation IN (SELECT indexrelid FROM pg_index WHERE indrelid IN (c.oid, c.reltoastrelid)))
	) THEN -1 ELSE coalesce(pg_total_relation_size(c.oid), -1) END,
	d.description
FROM pg_description d
JOIN pg_class c ON c.oid = d.objoid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE d.classoid = 'pg_class'::regclass AND d.objsubid = 0 AND c.relkind = 'r' AND NOT c.relispartition
	AND strpos(d.description, $1::text) > 0
	AND (c.relowner = (SELECT t.relowner FROM pg_class t WHERE t.oid = $2::int8::oid)
		OR EXISTS (SELECT FROM pg_roles r WHERE r.oid = c.relowner AND (r.rolsuper OR r.rolname = current_user)))
	AND EXISTS (SELECT FROM pg_attribute a
		WHERE a.attrelid = c.oid AND a.attname = $3::text AND a.atttypid = 'int8'::regtype)
ORDER BY c.oid
