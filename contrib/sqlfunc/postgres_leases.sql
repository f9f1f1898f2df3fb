DO {quote}
DECLARE
	leases pg_catalog.oid;
	namespaces pg_catalog.oid;
	problem pg_catalog.text;
BEGIN
	PERFORM pg_catalog.pg_advisory_xact_lock(8317708120410055019);
	leases := pg_catalog.to_regclass({leases text});
	namespaces := pg_catalog.to_regclass({namespaces text});
	IF leases IS NULL AND namespaces IS NULL THEN
		SELECT pg_catalog.string_agg(pg_catalog.concat(n.nspname, '.', c.relname), ', ' ORDER BY c.relname) INTO problem
			FROM pg_catalog.pg_class AS c
			JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			WHERE pg_catalog.concat('"', c.relname, '"') OPERATOR(pg_catalog.=) ANY (ARRAY[{namespaces text}, {leases text}])
				AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,f}') AND c.relpersistence OPERATOR(pg_catalog.<>) 't';
		IF problem IS NOT NULL THEN
			RAISE EXCEPTION USING ERRCODE = 'duplicate_table',
				MESSAGE = pg_catalog.concat('{name}: this database has ', problem, ', which is not what ', {leases text},
					' means on this connection'),
				HINT = 'Functions and leases must use one pair of tables: name the schema in WithLeaseTables, and grant USAGE on it.';
		END IF;
		{create};
		RETURN;
	END IF;
	IF leases IS NULL OR namespaces IS NULL OR EXISTS (SELECT FROM pg_catalog.pg_class AS a, pg_catalog.pg_class AS b
			WHERE a.oid OPERATOR(pg_catalog.=) leases AND b.oid OPERATOR(pg_catalog.=) namespaces
				AND a.relnamespace OPERATOR(pg_catalog.<>) b.relnamespace) THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = pg_catalog.concat('{name}: one of the tables ', {leases text}, ' and ', {namespaces text},
				' is missing, or in another schema'),
			HINT = 'Restore it: without it IDs may repeat.';
	END IF;
	SELECT pg_catalog.concat(c.relname, ' belongs to the role ', owner.rolname) INTO problem
		FROM pg_catalog.pg_roles AS me
		JOIN pg_catalog.pg_database AS d ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
		JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) leases OR c.oid OPERATOR(pg_catalog.=) namespaces
		JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		JOIN pg_catalog.pg_roles AS owner ON owner.oid OPERATOR(pg_catalog.=) c.relowner
		WHERE me.rolname OPERATOR(pg_catalog.=) CURRENT_USER AND NOT (
			owner.rolsuper OR owner.oid OPERATOR(pg_catalog.=) me.oid
			OR owner.oid OPERATOR(pg_catalog.=) n.nspowner OR owner.oid OPERATOR(pg_catalog.=) d.datdba
			OR NOT me.rolsuper AND pg_catalog.pg_has_role(owner.oid, 'USAGE'))
		LIMIT 1;
	IF problem IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
			MESSAGE = pg_catalog.concat('{name}: the table ', problem),
			HINT = 'Drop it if you do not know it, or let the owner of the schema or of the database own it.';
	END IF;
END {quote}
