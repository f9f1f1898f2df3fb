SELECT c.oid::int8, n.nspname,
	-- why it is unsuitable
	CASE
		WHEN c.relkind = 'r' THEN 'is not partitioned: see Adopt'
		WHEN c.relkind IN ('v', 'm') THEN 'is a view'
		WHEN c.relkind <> 'p' THEN 'is no table but a relation of the kind "' || c.relkind::text || '"'
		WHEN c.relpersistence = 't' THEN 'is temporary'
		WHEN p.partstrat <> 'r' OR p.partnatts <> 1 OR a.attname IS DISTINCT FROM $3::text
			THEN format('is partitioned by %s, want RANGE (%s)', pg_get_partkeydef(c.oid), $3::text)
		WHEN a.atttypid <> 'int8'::regtype
			THEN format('has the key %s of the type %s, want bigint', a.attname, format_type(a.atttypid, NULL))
		WHEN NOT pg_has_role(c.relowner, 'USAGE')
			THEN format('belongs to the role %s, of which the current role is no member: '
				|| 'only the owner may change partitions', pg_get_userbyid(c.relowner))
		ELSE ''
	END,
	-- the owner, if it is another role
	CASE WHEN pg_get_userbyid(c.relowner) = current_user THEN '' ELSE pg_get_userbyid(c.relowner)::text END,
	-- the access method and the tablespace
	coalesce((SELECT ' USING ' || quote_ident(m.amname) FROM pg_am m WHERE m.oid = c.relam), '')
		|| coalesce((SELECT ' TABLESPACE ' || quote_ident(t.spcname)
			FROM pg_tablespace t WHERE t.oid = c.reltablespace), ''),
	-- the roles with default privileges
	coalesce((
		SELECT string_agg(DISTINCT
			CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END, ', ')
		FROM pg_default_acl d, aclexplode(d.defaclacl) g
		WHERE d.defaclobjtype = 'r' AND g.grantee <> d.defaclrole
			AND d.defaclrole = (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user)
			AND d.defaclnamespace IN (0, c.relnamespace)
	), ''),
	CASE c.relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' ELSE '' END,
	(extract(epoch FROM clock_timestamp()) * 1000000)::int8
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_partitioned_table p ON p.partrelid = c.oid
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0] AND a.attnum > 0
WHERE c.relname = $1::text AND n.nspname = $2::text
