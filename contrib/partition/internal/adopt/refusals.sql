WITH t AS (
	SELECT c.*, a.attnum AS key FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = $3::text
		WHERE c.oid = $1::bigint::oid
), p (place, text) AS (
	-- Everything that depends on the table or its row type, without what the swap carries over: indexes, defaults,
	-- constraints, triggers, extended statistics and sequences of the table, the type itself and its TOAST table;
	-- publications follow.
	SELECT 1, pg_describe_object(d.classid, d.objid, d.objsubid) ||
		' depends on the table: drop it, and create it again afterwards'
	FROM t JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
		OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.reltype, (SELECT typarray FROM pg_type
			WHERE oid = t.reltype))
	WHERE NOT (d.classid = 'pg_type'::regclass AND d.deptype = 'i'
		OR d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i') AND d.objsubid = 0
			AND (SELECT relkind FROM pg_class WHERE oid = d.objid) IN ('i', 'S', 't')
		OR d.classid IN ('pg_constraint'::regclass, 'pg_trigger'::regclass, 'pg_publication_rel'::regclass)
		OR d.classid = 'pg_attrdef'::regclass AND (SELECT adrelid FROM pg_attrdef WHERE oid = d.objid) = t.oid
		OR d.classid = 'pg_statistic_ext'::regclass AND (SELECT stxrelid FROM pg_statistic_ext
			WHERE oid = d.objid) = t.oid)
	UNION ALL SELECT 2, 'the publication ' || pubname || ' publishes the table, and would publish its partitions' FROM t
		JOIN pg_namespace AS n ON n.oid = relnamespace JOIN pg_publication_tables ON schemaname = nspname
			AND tablename = relname
	UNION ALL SELECT 2, 'a subscription writes to the table' FROM t WHERE EXISTS (SELECT FROM pg_subscription_rel
		WHERE srrelid = t.oid)
	UNION ALL SELECT 2, 'it has row level security' FROM t WHERE relrowsecurity OR relforcerowsecurity
	UNION ALL SELECT 2, 'it inherits from ' || inhparent::regclass FROM t JOIN pg_inherits ON inhrelid = t.oid
	UNION ALL SELECT 2, 'it is of the type ' || reloftype::regtype FROM t WHERE reloftype <> 0
	UNION ALL SELECT 2, 'it is unlogged or temporary' FROM t WHERE relpersistence <> 'p'
	UNION ALL SELECT 2, 'its access method is ' || amname FROM t JOIN pg_am AS a ON a.oid = relam WHERE amname <> 'heap'
	UNION ALL SELECT 2, 'it has security labels' FROM t WHERE EXISTS (SELECT FROM pg_seclabel
		WHERE classoid = 'pg_class'::regclass AND objoid = t.oid)
	UNION ALL SELECT 2, 'it belongs to the ' || pg_describe_object(d.refclassid, d.refobjid, 0) FROM t
		JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = t.oid AND d.deptype = 'e'
	UNION ALL SELECT 3, 'the user ' || current_user || ' does not own ' || c.oid::regclass FROM t JOIN pg_class AS c
		ON c.oid = t.oid OR c.oid IN (SELECT conrelid FROM pg_constraint WHERE confrelid = t.oid AND contype = 'f')
			WHERE NOT pg_has_role(c.relowner, 'USAGE')
	UNION ALL SELECT 3, 'the user ' || current_user || ' may not create tables in the schema ' ||
		relnamespace::regnamespace FROM t WHERE NOT has_schema_privilege(relnamespace, 'CREATE')
	UNION ALL SELECT 4, format('the key %s allows NULL: SET NOT NULL first', attname) FROM t
		JOIN pg_attribute ON attrelid = t.oid AND attnum = t.key AND NOT attnotnull
	UNION ALL SELECT 4, format('the column %s is an identity column: drop the identity first '
			|| '(contrib/adopt does it for the key)', attname)
		FROM t JOIN pg_attribute ON attrelid = t.oid AND attidentity <> ''
	UNION ALL SELECT 4, format('the key %s has a default from the sequence %s: drop the default first '
			|| '(see contrib/adopt)', $3::text, c.oid::regclass)
		FROM t JOIN pg_attrdef AS x ON adrelid = t.oid AND adnum = t.key
		JOIN pg_depend AS d ON d.classid = 'pg_attrdef'::regclass AND d.objid = x.oid
			AND d.refclassid = 'pg_class'::regclass
		JOIN pg_class AS c ON c.oid = d.refobjid AND c.relkind = 'S'
	UNION ALL SELECT 4, format('the key %s is a generated column', attname) FROM t
		JOIN pg_attribute ON attrelid = t.oid AND attnum = t.key AND attgenerated <> ''
	UNION ALL SELECT 5, format('the unique index %s does not contain the key %s', x.indexrelid::regclass, $3::text)
		FROM t JOIN pg_index AS x ON indrelid = t.oid
		WHERE indisunique AND NOT indisexclusion AND NOT t.key = ANY ((indkey::int2[])[0:indnkeyatts - 1])
	UNION ALL SELECT 5, format('the index %s is invalid: drop it', x.indexrelid::regclass) FROM t
		JOIN pg_index AS x ON indrelid = t.oid WHERE NOT (indisvalid AND indisready AND indislive)
	UNION ALL SELECT 6, format('%s is an exclusion constraint', conname) FROM t
		JOIN pg_constraint ON conrelid = t.oid AND contype = 'x'
	UNION ALL SELECT 6, format('the constraint %s is NOT VALID: validate or drop it', conname) FROM t
		JOIN pg_constraint ON conrelid = t.oid AND NOT convalidated AND conname <> $4::text
	UNION ALL SELECT 6, format('the constraint %s is NO INHERIT', conname) FROM t
		JOIN pg_constraint ON conrelid = t.oid AND contype IN ('c', 'n') AND connoinherit
	UNION ALL SELECT 7, format('the foreign key %s refers to the table itself', conname) FROM t
		JOIN pg_constraint ON conrelid = t.oid AND confrelid = t.oid
	UNION ALL SELECT 7, format('the foreign key %s is of a partitioned table, %s', conname, c.oid::regclass) FROM t
		JOIN pg_constraint AS k ON confrelid = t.oid AND contype = 'f' AND conparentid = 0
			JOIN pg_class AS c ON c.oid = conrelid AND c.relkind = 'p'
	UNION ALL SELECT 8, format('the trigger %s is for each row and has transition tables', tgname) FROM t
		JOIN pg_trigger ON tgrelid = t.oid
		WHERE NOT tgisinternal AND tgtype & 1 = 1 AND (tgoldtable IS NOT NULL OR tgnewtable IS NOT NULL)
	UNION ALL SELECT 9, format('the name %s, which %s would get, is in use', x.legacy, x.old) FROM t, LATERAL (
			SELECT $2::text AS legacy, t.relname::text AS old
			UNION ALL SELECT CASE WHEN octet_length(c.relname) <= 56 THEN c.relname || '_legacy' ELSE 'legacy_' || c.oid
				END, c.relname::text FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid WHERE indrelid = t.oid) AS x
		WHERE EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = t.relnamespace AND c.relname = x.legacy)
) SELECT text FROM p GROUP BY place, text ORDER BY place, text
