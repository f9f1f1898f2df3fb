SELECT c.oid::int8, n.nspname, c.relname, d.description
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
