WITH t AS (
	SELECT c.*, format('%I.%I', n.nspname, c.relname) AS name, format('%I.%I', n.nspname, $2::text) AS legacy, n.nspname
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = $1::bigint::oid
), i AS (
	SELECT x.indexrelid AS oid, format('%I.%I', t.nspname, c.relname) AS name, c.relname, c.reloptions,
		CASE WHEN octet_length(c.relname) <= 56 THEN c.relname || '_legacy' ELSE 'legacy_' || c.oid
			END AS legacy, k.oid AS con, pg_get_indexdef(c.oid) AS def,
		regexp_replace(pg_get_constraintdef(k.oid), '( DEFERRABLE)?( INITIALLY DEFERRED)?$', '') AS con_def,
		CASE WHEN k.condeferrable THEN ' DEFERRABLE' ELSE '' END || CASE WHEN k.condeferred THEN ' INITIALLY DEFERRED'
			ELSE '' END AS con_tail
	FROM t JOIN pg_index AS x ON x.indrelid = t.oid JOIN pg_class AS c ON c.oid = x.indexrelid
	LEFT JOIN pg_constraint AS k ON k.conindid = c.oid AND k.conrelid = t.oid AND k.contype IN ('p', 'u')
), st AS (
	SELECT x.oid, format('%I.%I', n.nspname, x.stxname) AS name, x.stxname AS relname, x.stxstattarget,
		pg_get_statisticsobjdef(x.oid) AS def
	FROM t JOIN pg_statistic_ext AS x ON x.stxrelid = t.oid JOIN pg_namespace AS n ON n.oid = x.stxnamespace
), f AS (
	SELECT k.*, format('%I.%I', n.nspname, c.relname) AS child, pg_get_constraintdef(k.oid) AS def,
		obj_description(k.oid, 'pg_constraint') AS comment
	FROM t JOIN pg_constraint AS k ON (k.conrelid = t.oid OR k.confrelid = t.oid) AND k.contype = 'f'
		AND k.conparentid = 0
	JOIN pg_class AS c ON c.oid = k.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
), g AS (
	SELECT t.name, 0 AS attnum, '' AS columns, x.* FROM t, aclexplode(t.relacl) AS x
	UNION ALL
	SELECT t.name, a.attnum, format(' (%I)', a.attname), x.* FROM t
		JOIN pg_attribute AS a ON a.attrelid = t.oid AND NOT a.attisdropped, aclexplode(a.attacl) AS x
), r AS (
	SELECT DISTINCT x.grantee FROM t, pg_default_acl AS d, aclexplode(d.defaclacl) AS x
		WHERE d.defaclrole = current_user::regrole AND d.defaclobjtype = 'r' AND d.defaclnamespace IN (0, t.relnamespace)
	UNION SELECT t.relowner FROM t WHERE t.relacl IS NOT NULL
), s (step, place, statement) AS (
	SELECT 1, 0, format('ALTER TABLE %s RENAME TO %I', name, $2::text) FROM t
	UNION ALL SELECT 2, oid::bigint, format('ALTER INDEX %s RENAME TO %I', name, legacy) FROM i
	UNION ALL SELECT 3, oid::bigint, format('ALTER STATISTICS %s RENAME TO %I', name,
		CASE WHEN octet_length(relname) <= 56 THEN relname || '_legacy' ELSE 'legacy_' || oid END) FROM st
	UNION ALL SELECT 4, 0,
		format('CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING INDEXES EXCLUDING IDENTITY EXCLUDING STATISTICS) '
			|| 'PARTITION BY RANGE (%I)%s',
		name, legacy, $3::text, CASE WHEN reltablespace <> 0 THEN format(' TABLESPACE %I', (SELECT spcname
			FROM pg_tablespace WHERE oid = reltablespace)) ELSE '' END) FROM t
	UNION ALL SELECT 5, 0, format('ALTER TABLE %s DROP CONSTRAINT %I', name, $5::text) FROM t
	UNION ALL SELECT 6, 0, format('ALTER TABLE %s OWNER TO %s', name, relowner::regrole) FROM t
		WHERE relowner <> current_user::regrole
	UNION ALL SELECT 7, r.grantee::bigint, format('REVOKE ALL ON TABLE %s FROM %s', t.name,
		CASE r.grantee WHEN 0 THEN 'PUBLIC' ELSE r.grantee::regrole::text END) FROM t, r
	UNION ALL SELECT 8, attnum, format('GRANT %s%s ON TABLE %s TO %s%s', privilege_type, columns, name,
		CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END,
			CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) FROM g
	UNION ALL SELECT 9, attnum, format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s',
			t.name, attname, attstattarget)
		FROM t JOIN pg_attribute ON attrelid = t.oid WHERE attnum > 0 AND NOT attisdropped AND attstattarget >= 0
	UNION ALL SELECT 9, attnum, format('ALTER TABLE %s ALTER COLUMN %I SET (%s)', t.name, attname, option)
		FROM t JOIN pg_attribute ON attrelid = t.oid, unnest(attoptions) AS option
		-- some distributions keep their own options there
		WHERE attnum > 0 AND NOT attisdropped AND split_part(option, '=', 1) IN ('n_distinct', 'n_distinct_inherited')
	UNION ALL SELECT 10, i.oid::bigint, CASE WHEN con IS NULL THEN def
		ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s%s%s', t.name, i.relname, con_def,
		CASE WHEN i.reloptions IS NOT NULL THEN format(' WITH (%s)', array_to_string(i.reloptions, ', ')) ELSE ''
			END, con_tail) END FROM t, i
	UNION ALL SELECT 11, f.oid::bigint, format('ALTER TABLE %s ADD CONSTRAINT %I %s', t.name, conname, def) FROM t
		JOIN f ON f.conrelid = t.oid
	UNION ALL SELECT 12, oid::bigint, def FROM st
	UNION ALL SELECT 13, oid::bigint, format('ALTER STATISTICS %s SET STATISTICS %s', name, stxstattarget) FROM st
		WHERE stxstattarget >= 0
	UNION ALL SELECT 13, q.oid::bigint, format('ALTER SEQUENCE %s OWNED BY %s.%I', q.oid::regclass, t.name, a.attname)
		FROM t JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
			AND d.classid = 'pg_class'::regclass AND d.deptype = 'a'
		JOIN pg_class AS q ON q.oid = d.objid AND q.relkind = 'S'
			JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
	UNION ALL SELECT 14, x.oid::bigint, format('DROP TRIGGER %I ON %s', tgname, t.legacy) FROM t
		JOIN pg_trigger AS x ON tgrelid = t.oid WHERE NOT tgisinternal
	UNION ALL SELECT 15, x.oid::bigint, pg_get_triggerdef(x.oid) FROM t JOIN pg_trigger AS x ON tgrelid = t.oid
		WHERE NOT tgisinternal
	UNION ALL SELECT 16, x.oid::bigint, format('ALTER TABLE %s %s TRIGGER %I', t.name,
		CASE tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, tgname)
		FROM t JOIN pg_trigger AS x ON tgrelid = t.oid WHERE NOT tgisinternal AND tgenabled <> 'O'
	UNION ALL SELECT 17, 0, format('COMMENT ON TABLE %s IS %L', name, obj_description(oid, 'pg_class')) FROM t
		WHERE obj_description(oid, 'pg_class') IS NOT NULL
	UNION ALL SELECT 17, i.oid::bigint, format('COMMENT ON INDEX %s IS %L', name, obj_description(oid, 'pg_class'))
		FROM i WHERE obj_description(oid, 'pg_class') IS NOT NULL
	UNION ALL SELECT 17, i.oid::bigint, format('COMMENT ON CONSTRAINT %I ON %s IS %L', i.relname, t.name,
		obj_description(con, 'pg_constraint')) FROM t, i WHERE obj_description(con, 'pg_constraint') IS NOT NULL
	UNION ALL SELECT 17, f.oid::bigint, format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, t.name, comment) FROM t
		JOIN f ON f.conrelid = t.oid WHERE comment IS NOT NULL
	UNION ALL SELECT 17, st.oid::bigint, format('COMMENT ON STATISTICS %s IS %L', name, obj_description(oid,
		'pg_statistic_ext')) FROM st WHERE obj_description(oid, 'pg_statistic_ext') IS NOT NULL
	UNION ALL SELECT 17, x.oid::bigint, format('COMMENT ON TRIGGER %I ON %s IS %L', tgname, t.name,
		obj_description(x.oid, 'pg_trigger'))
		FROM t JOIN pg_trigger AS x ON tgrelid = t.oid WHERE NOT tgisinternal
			AND obj_description(x.oid, 'pg_trigger') IS NOT NULL
	UNION ALL SELECT 18, 0, format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (MINVALUE) TO (%L)', name,
		legacy, $4::text) FROM t
	UNION ALL SELECT 19, 0, format('ALTER TABLE %s DROP CONSTRAINT %I', legacy, $5::text) FROM t
	UNION ALL SELECT 20, 0, format('ALTER TABLE %s REPLICA IDENTITY %s', t.name,
		CASE relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' ELSE
		(SELECT format('USING INDEX %I', i.relname) FROM i JOIN pg_index AS x ON x.indexrelid = i.oid
			WHERE indisreplident) END) FROM t WHERE relreplident <> 'd'
	UNION ALL SELECT 21, f.oid::bigint, format('ALTER TABLE %s DROP CONSTRAINT %I', child, conname) FROM t
		JOIN f ON f.confrelid = t.oid
	UNION ALL SELECT 22, f.oid::bigint, format('ALTER TABLE %s ADD CONSTRAINT %I %s%s', child, conname, def,
		CASE WHEN convalidated THEN ' NOT VALID' ELSE '' END) FROM t JOIN f ON f.confrelid = t.oid
	UNION ALL SELECT 23, f.oid::bigint, format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, child,
			CASE WHEN convalidated THEN concat_ws(E'\n', comment, $6::text) ELSE comment END)
		FROM t JOIN f ON f.confrelid = t.oid WHERE convalidated OR comment IS NOT NULL
) SELECT statement FROM s ORDER BY step, place, statement
