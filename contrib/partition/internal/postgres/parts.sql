SELECT c.oid::int8, n.nspname, c.relname, c.relkind IN ('p', 'f'), coalesce(pg_get_expr(c.relpartbound, 0), ''),
	i.inhdetachpending, coalesce(obj_description(c.oid, 'pg_class'), '')
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE i.inhparent = $1::int8::oid
