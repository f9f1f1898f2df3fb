SELECT statement FROM (
	SELECT k.*, format('%I.%I', n.nspname, c.relname) AS child, obj_description(k.oid, 'pg_constraint') AS comment
	FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE k.confrelid = $1::bigint::oid AND k.contype = 'f' AND k.conparentid = 0
) AS f, LATERAL (VALUES (1, format('ALTER TABLE %s VALIDATE CONSTRAINT %I', child, conname)),
	(2, format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, child,
		nullif(regexp_replace(comment, '\n?' || $2::text || '$', ''), '')))) AS v (place, statement)
WHERE CASE WHEN $3 THEN convalidated ELSE NOT convalidated AND comment LIKE '%' || $2::text END
ORDER BY oid, place
