package partition

import (
	"context"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

// swapQuery returns the statements of the swap in their order. Parameters: the table's OID, the name that it gets, the
// key, the cut, adoptCheck and adoptMark. The search_path must be pg_catalog, so that all names have their schema. The
// definitions contain the name of the table, which is that of the new one when they are executed.
const swapQuery = `WITH t AS (
	SELECT c.*, format('%I.%I', n.nspname, c.relname) AS name, format('%I.%I', n.nspname, $2::text) AS legacy, n.nspname
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = $1::bigint::oid
), i AS (
	SELECT x.indexrelid AS oid, format('%I.%I', t.nspname, c.relname) AS name, c.relname, c.reloptions,
		` + legacyIndex + ` AS legacy, k.oid AS con, pg_get_indexdef(c.oid) AS def,
		regexp_replace(pg_get_constraintdef(k.oid), '( DEFERRABLE)?( INITIALLY DEFERRED)?$', '') AS con_def,
		CASE WHEN k.condeferrable THEN ' DEFERRABLE' ELSE '' END || CASE WHEN k.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END AS con_tail
	FROM t JOIN pg_index AS x ON x.indrelid = t.oid JOIN pg_class AS c ON c.oid = x.indexrelid
	LEFT JOIN pg_constraint AS k ON k.conindid = c.oid AND k.conrelid = t.oid AND k.contype IN ('p', 'u')
), st AS (
	SELECT x.oid, format('%I.%I', n.nspname, x.stxname) AS name, x.stxname AS relname, x.stxstattarget, pg_get_statisticsobjdef(x.oid) AS def
	FROM t JOIN pg_statistic_ext AS x ON x.stxrelid = t.oid JOIN pg_namespace AS n ON n.oid = x.stxnamespace
), f AS (
	SELECT k.*, format('%I.%I', n.nspname, c.relname) AS child, pg_get_constraintdef(k.oid) AS def, obj_description(k.oid, 'pg_constraint') AS comment
	FROM t JOIN pg_constraint AS k ON (k.conrelid = t.oid OR k.confrelid = t.oid) AND k.contype = 'f' AND k.conparentid = 0
	JOIN pg_class AS c ON c.oid = k.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
), g AS (
	SELECT t.name, 0 AS attnum, '' AS columns, x.* FROM t, aclexplode(t.relacl) AS x
	UNION ALL
	SELECT t.name, a.attnum, format(' (%I)', a.attname), x.* FROM t JOIN pg_attribute AS a ON a.attrelid = t.oid AND NOT a.attisdropped, aclexplode(a.attacl) AS x
), r AS (
	SELECT DISTINCT x.grantee FROM t, pg_default_acl AS d, aclexplode(d.defaclacl) AS x
		WHERE d.defaclrole = current_user::regrole AND d.defaclobjtype = 'r' AND d.defaclnamespace IN (0, t.relnamespace)
	UNION SELECT t.relowner FROM t WHERE t.relacl IS NOT NULL
), s (step, place, statement) AS (
	SELECT 1, 0, format('ALTER TABLE %s RENAME TO %I', name, $2::text) FROM t
	UNION ALL SELECT 2, oid::bigint, format('ALTER INDEX %s RENAME TO %I', name, legacy) FROM i
	UNION ALL SELECT 3, oid::bigint, format('ALTER STATISTICS %s RENAME TO %I', name, CASE WHEN octet_length(relname) <= 56 THEN relname || '_legacy' ELSE 'legacy_' || oid END) FROM st
	UNION ALL SELECT 4, 0, format('CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING INDEXES EXCLUDING IDENTITY EXCLUDING STATISTICS) PARTITION BY RANGE (%I)%s',
		name, legacy, $3::text, CASE WHEN reltablespace <> 0 THEN format(' TABLESPACE %I', (SELECT spcname FROM pg_tablespace WHERE oid = reltablespace)) ELSE '' END) FROM t
	UNION ALL SELECT 5, 0, format('ALTER TABLE %s DROP CONSTRAINT %I', name, $5::text) FROM t
	UNION ALL SELECT 6, 0, format('ALTER TABLE %s OWNER TO %s', name, relowner::regrole) FROM t WHERE relowner <> current_user::regrole
	UNION ALL SELECT 7, r.grantee::bigint, format('REVOKE ALL ON TABLE %s FROM %s', t.name, CASE r.grantee WHEN 0 THEN 'PUBLIC' ELSE r.grantee::regrole::text END) FROM t, r
	UNION ALL SELECT 8, attnum, format('GRANT %s%s ON TABLE %s TO %s%s', privilege_type, columns, name,
		CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) FROM g
	UNION ALL SELECT 9, attnum, format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s', t.name, attname, attstattarget)
		FROM t JOIN pg_attribute ON attrelid = t.oid WHERE attnum > 0 AND NOT attisdropped AND attstattarget >= 0
	UNION ALL SELECT 9, attnum, format('ALTER TABLE %s ALTER COLUMN %I SET (%s)', t.name, attname, option)
		FROM t JOIN pg_attribute ON attrelid = t.oid, unnest(attoptions) AS option -- some distributions keep options of their own there
		WHERE attnum > 0 AND NOT attisdropped AND split_part(option, '=', 1) IN ('n_distinct', 'n_distinct_inherited')
	UNION ALL SELECT 10, i.oid::bigint, CASE WHEN con IS NULL THEN def ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s%s%s', t.name, i.relname, con_def,
		CASE WHEN i.reloptions IS NOT NULL THEN format(' WITH (%s)', array_to_string(i.reloptions, ', ')) ELSE '' END, con_tail) END FROM t, i
	UNION ALL SELECT 11, f.oid::bigint, format('ALTER TABLE %s ADD CONSTRAINT %I %s', t.name, conname, def) FROM t JOIN f ON f.conrelid = t.oid
	UNION ALL SELECT 12, oid::bigint, def FROM st
	UNION ALL SELECT 13, oid::bigint, format('ALTER STATISTICS %s SET STATISTICS %s', name, stxstattarget) FROM st WHERE stxstattarget >= 0
	UNION ALL SELECT 13, q.oid::bigint, format('ALTER SEQUENCE %s OWNED BY %s.%I', q.oid::regclass, t.name, a.attname)
		FROM t JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.classid = 'pg_class'::regclass AND d.deptype = 'a'
		JOIN pg_class AS q ON q.oid = d.objid AND q.relkind = 'S' JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
	UNION ALL SELECT 14, x.oid::bigint, format('DROP TRIGGER %I ON %s', tgname, t.legacy) FROM t JOIN pg_trigger AS x ON tgrelid = t.oid WHERE NOT tgisinternal
	UNION ALL SELECT 15, x.oid::bigint, pg_get_triggerdef(x.oid) FROM t JOIN pg_trigger AS x ON tgrelid = t.oid WHERE NOT tgisinternal
	UNION ALL SELECT 16, x.oid::bigint, format('ALTER TABLE %s %s TRIGGER %I', t.name, CASE tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, tgname)
		FROM t JOIN pg_trigger AS x ON tgrelid = t.oid WHERE NOT tgisinternal AND tgenabled <> 'O'
	UNION ALL SELECT 17, 0, format('COMMENT ON TABLE %s IS %L', name, obj_description(oid, 'pg_class')) FROM t WHERE obj_description(oid, 'pg_class') IS NOT NULL
	UNION ALL SELECT 17, i.oid::bigint, format('COMMENT ON INDEX %s IS %L', name, obj_description(oid, 'pg_class')) FROM i WHERE obj_description(oid, 'pg_class') IS NOT NULL
	UNION ALL SELECT 17, i.oid::bigint, format('COMMENT ON CONSTRAINT %I ON %s IS %L', i.relname, t.name, obj_description(con, 'pg_constraint')) FROM t, i WHERE obj_description(con, 'pg_constraint') IS NOT NULL
	UNION ALL SELECT 17, f.oid::bigint, format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, t.name, comment) FROM t JOIN f ON f.conrelid = t.oid WHERE comment IS NOT NULL
	UNION ALL SELECT 17, st.oid::bigint, format('COMMENT ON STATISTICS %s IS %L', name, obj_description(oid, 'pg_statistic_ext')) FROM st WHERE obj_description(oid, 'pg_statistic_ext') IS NOT NULL
	UNION ALL SELECT 17, x.oid::bigint, format('COMMENT ON TRIGGER %I ON %s IS %L', tgname, t.name, obj_description(x.oid, 'pg_trigger'))
		FROM t JOIN pg_trigger AS x ON tgrelid = t.oid WHERE NOT tgisinternal AND obj_description(x.oid, 'pg_trigger') IS NOT NULL
	UNION ALL SELECT 18, 0, format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (MINVALUE) TO (%L)', name, legacy, $4::text) FROM t
	UNION ALL SELECT 19, 0, format('ALTER TABLE %s DROP CONSTRAINT %I', legacy, $5::text) FROM t
	UNION ALL SELECT 20, 0, format('ALTER TABLE %s REPLICA IDENTITY %s', t.name, CASE relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' ELSE
		(SELECT format('USING INDEX %I', i.relname) FROM i JOIN pg_index AS x ON x.indexrelid = i.oid WHERE indisreplident) END) FROM t WHERE relreplident <> 'd'
	UNION ALL SELECT 21, f.oid::bigint, format('ALTER TABLE %s DROP CONSTRAINT %I', child, conname) FROM t JOIN f ON f.confrelid = t.oid
	UNION ALL SELECT 22, f.oid::bigint, format('ALTER TABLE %s ADD CONSTRAINT %I %s%s', child, conname, def, CASE WHEN convalidated THEN ' NOT VALID' ELSE '' END) FROM t JOIN f ON f.confrelid = t.oid
	UNION ALL SELECT 23, f.oid::bigint, format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, child,
			CASE WHEN convalidated THEN concat_ws(E'\n', comment, $6::text) ELSE comment END)
		FROM t JOIN f ON f.confrelid = t.oid WHERE convalidated OR comment IS NOT NULL
) SELECT statement FROM s ORDER BY step, place, statement`

// legacyIndex is the name that an index gets. Names have 63 bytes at most.
const legacyIndex = `CASE WHEN octet_length(c.relname) <= 56 THEN c.relname || '_legacy' ELSE 'legacy_' || c.oid END`

// validateQuery returns, for each foreign key that refers to the table and that the swap left NOT VALID, two statements:
// one validates it, the other takes the mark off its comment. Parameters: the table's OID, adoptMark, and whether the
// swap is still to come, when there is no mark.
const validateQuery = `SELECT statement FROM (
	SELECT k.*, format('%I.%I', n.nspname, c.relname) AS child, obj_description(k.oid, 'pg_constraint') AS comment
	FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE k.confrelid = $1::bigint::oid AND k.contype = 'f' AND k.conparentid = 0
) AS f, LATERAL (VALUES (1, format('ALTER TABLE %s VALIDATE CONSTRAINT %I', child, conname)),
	(2, format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, child, nullif(regexp_replace(comment, '\n?' || $2::text || '$', ''), '')))) AS v (place, statement)
WHERE CASE WHEN $3 THEN convalidated ELSE NOT convalidated AND comment LIKE '%' || $2::text END
ORDER BY oid, place`

// refusalsQuery returns what the swap can't carry over. Parameters: the table's OID, the name that it gets, the key,
// adoptCheck.
const refusalsQuery = `WITH t AS (
	SELECT c.*, a.attnum AS key FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = $3::text WHERE c.oid = $1::bigint::oid
), p (place, text) AS (
	-- Everything that depends on the table or its row type, without what the swap carries over: indexes, defaults, constraints,
	-- triggers, extended statistics and sequences of the table, the type itself and its TOAST table; publications follow.
	SELECT 1, pg_describe_object(d.classid, d.objid, d.objsubid) || ' depends on the table: drop it, and create it again afterwards'
	FROM t JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
		OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.reltype, (SELECT typarray FROM pg_type WHERE oid = t.reltype))
	WHERE NOT (d.classid = 'pg_type'::regclass AND d.deptype = 'i'
		OR d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i') AND d.objsubid = 0
			AND (SELECT relkind FROM pg_class WHERE oid = d.objid) IN ('i', 'S', 't')
		OR d.classid IN ('pg_constraint'::regclass, 'pg_trigger'::regclass, 'pg_publication_rel'::regclass)
		OR d.classid = 'pg_attrdef'::regclass AND (SELECT adrelid FROM pg_attrdef WHERE oid = d.objid) = t.oid
		OR d.classid = 'pg_statistic_ext'::regclass AND (SELECT stxrelid FROM pg_statistic_ext WHERE oid = d.objid) = t.oid)
	UNION ALL SELECT 2, 'the publication ' || pubname || ' publishes the table, and would publish its partitions' FROM t
		JOIN pg_namespace AS n ON n.oid = relnamespace JOIN pg_publication_tables ON schemaname = nspname AND tablename = relname
	UNION ALL SELECT 2, 'a subscription writes to the table' FROM t WHERE EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = t.oid)
	UNION ALL SELECT 2, 'it has row level security' FROM t WHERE relrowsecurity OR relforcerowsecurity
	UNION ALL SELECT 2, 'it inherits from ' || inhparent::regclass FROM t JOIN pg_inherits ON inhrelid = t.oid
	UNION ALL SELECT 2, 'it is of the type ' || reloftype::regtype FROM t WHERE reloftype <> 0
	UNION ALL SELECT 2, 'it is unlogged or temporary' FROM t WHERE relpersistence <> 'p'
	UNION ALL SELECT 2, 'its access method is ' || amname FROM t JOIN pg_am AS a ON a.oid = relam WHERE amname <> 'heap'
	UNION ALL SELECT 2, 'it has security labels' FROM t WHERE EXISTS (SELECT FROM pg_seclabel WHERE classoid = 'pg_class'::regclass AND objoid = t.oid)
	UNION ALL SELECT 2, 'it belongs to the ' || pg_describe_object(d.refclassid, d.refobjid, 0) FROM t
		JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = t.oid AND d.deptype = 'e'
	UNION ALL SELECT 3, 'the user ' || current_user || ' does not own ' || c.oid::regclass FROM t JOIN pg_class AS c
		ON c.oid = t.oid OR c.oid IN (SELECT conrelid FROM pg_constraint WHERE confrelid = t.oid AND contype = 'f') WHERE NOT pg_has_role(c.relowner, 'USAGE')
	UNION ALL SELECT 3, 'the user ' || current_user || ' may not create tables in the schema ' || relnamespace::regnamespace FROM t WHERE NOT has_schema_privilege(relnamespace, 'CREATE')
	UNION ALL SELECT 4, format('the key %s allows NULL: SET NOT NULL first', attname) FROM t JOIN pg_attribute ON attrelid = t.oid AND attnum = t.key AND NOT attnotnull
	UNION ALL SELECT 4, format('the column %s is an identity column: drop the identity first (gormplugin/adopt does it for the key)', attname)
		FROM t JOIN pg_attribute ON attrelid = t.oid AND attidentity <> ''
	UNION ALL SELECT 4, format('the key %s has a default from the sequence %s: drop the default first (see gormplugin/adopt)', $3::text, c.oid::regclass)
		FROM t JOIN pg_attrdef AS x ON adrelid = t.oid AND adnum = t.key
		JOIN pg_depend AS d ON d.classid = 'pg_attrdef'::regclass AND d.objid = x.oid AND d.refclassid = 'pg_class'::regclass
		JOIN pg_class AS c ON c.oid = d.refobjid AND c.relkind = 'S'
	UNION ALL SELECT 4, format('the key %s is a generated column', attname) FROM t JOIN pg_attribute ON attrelid = t.oid AND attnum = t.key AND attgenerated <> ''
	UNION ALL SELECT 5, format('the unique index %s does not contain the key %s', x.indexrelid::regclass, $3::text) FROM t JOIN pg_index AS x ON indrelid = t.oid
		WHERE indisunique AND NOT indisexclusion AND NOT t.key = ANY ((indkey::int2[])[0:indnkeyatts - 1])
	UNION ALL SELECT 5, format('the index %s is invalid: drop it', x.indexrelid::regclass) FROM t JOIN pg_index AS x ON indrelid = t.oid WHERE NOT (indisvalid AND indisready AND indislive)
	UNION ALL SELECT 6, format('%s is an exclusion constraint', conname) FROM t JOIN pg_constraint ON conrelid = t.oid AND contype = 'x'
	UNION ALL SELECT 6, format('the constraint %s is NOT VALID: validate or drop it', conname) FROM t JOIN pg_constraint ON conrelid = t.oid AND NOT convalidated AND conname <> $4::text
	UNION ALL SELECT 6, format('the constraint %s is NO INHERIT', conname) FROM t JOIN pg_constraint ON conrelid = t.oid AND contype IN ('c', 'n') AND connoinherit
	UNION ALL SELECT 7, format('the foreign key %s refers to the table itself', conname) FROM t JOIN pg_constraint ON conrelid = t.oid AND confrelid = t.oid
	UNION ALL SELECT 7, format('the foreign key %s is of a partitioned table, %s', conname, c.oid::regclass) FROM t
		JOIN pg_constraint AS k ON confrelid = t.oid AND contype = 'f' AND conparentid = 0 JOIN pg_class AS c ON c.oid = conrelid AND c.relkind = 'p'
	UNION ALL SELECT 8, format('the trigger %s is for each row and has transition tables', tgname) FROM t JOIN pg_trigger ON tgrelid = t.oid
		WHERE NOT tgisinternal AND tgtype & 1 = 1 AND (tgoldtable IS NOT NULL OR tgnewtable IS NOT NULL)
	UNION ALL SELECT 9, format('the name %s, which %s would get, is in use', x.legacy, x.old) FROM t, LATERAL (
			SELECT $2::text AS legacy, t.relname::text AS old
			UNION ALL SELECT ` + legacyIndex + `, c.relname::text FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid WHERE indrelid = t.oid) AS x
		WHERE EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = t.relnamespace AND c.relname = x.legacy)
) SELECT text FROM p GROUP BY place, text ORDER BY place, text`

// refusalsPostgres adds what the swap can't carry over to the problems.
func (s *Set) refusalsPostgres(ctx context.Context, q querier, t *adoptee, plan *Plan) error {
	texts, err := list(ctx, q, refusalsQuery, t.oid, t.legacy, s.key, adoptCheck)
	for _, text := range texts {
		plan.Problems = append(plan.Problems, problem{text: text})
	}
	return err
}

// refuseAhead adds a problem if there is a row with a key from the cut on.
func (s *Set) refuseAhead(ctx context.Context, q querier, t *adoptee, cut int64, plan *Plan) error {
	if len(plan.Problems) > 0 { // there may be no right to read it
		return nil
	}
	keys, err := list(ctx, q, fmt.Sprintf("SELECT max(%[1]s)::text FROM ONLY %[2]s WHERE %[1]s >= %[3]d HAVING max(%[1]s) IS NOT NULL",
		quoteName(s.key), quoteTable(t.name), cut))
	for _, text := range keys {
		key, err := snowflake.Parse(text)
		if err != nil {
			return err
		}
		plan.Problems = append(plan.Problems, problem{text: fmt.Sprintf("it has a row with the key %d, of the time %s: that is after the cut, %s",
			key, s.text(s.at(key.Int64())), s.text(s.at(cut)))})
	}
	return err
}
