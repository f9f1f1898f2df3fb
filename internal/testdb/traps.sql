-- arm creates the traps as the role: objects in the schema public, with names of pg_catalog that the source calls or
-- has as a word, and with its operators. The source is all SQL in one text. A trap that runs fails, and counts in public.sprung, which survives a rollback.
CREATE FUNCTION pg_temp.arm(role text, source text) RETURNS bigint
LANGUAGE plpgsql AS $arm$
DECLARE
	common CONSTANT regtype[] :=
		'{bool,int2,int4,int8,numeric,float8,text,name,"char",oid,regclass,timestamptz,interval}';
	few CONSTANT regtype[] := '{int4,int8,numeric,text,name,bool}';
	names CONSTANT regtype[] := '{int4,text,name,oid,regclass}';
	calls CONSTANT text[] := ARRAY(SELECT DISTINCT m[1] FROM regexp_matches(lower(source), '\m([a-z_]\w*)\(', 'g') AS m);
	words CONSTANT text[] := ARRAY(SELECT DISTINCT m[1] FROM regexp_matches(lower(source), '\m([a-z_]\w*)\M', 'g') AS m);
	f record;
	what text;
	made bigint := 0;
BEGIN
	EXECUTE format('GRANT CREATE ON SCHEMA public TO %I', role);
	EXECUTE format('SET LOCAL ROLE %I', role);
	SET LOCAL check_function_bodies = off;

	CREATE SEQUENCE public.sprung;
	GRANT SELECT, UPDATE ON public.sprung TO PUBLIC;
	CREATE FUNCTION public.spring(what text) RETURNS bool LANGUAGE plpgsql SET search_path = pg_catalog AS $$
		BEGIN
			PERFORM nextval('public.sprung');
			RAISE EXCEPTION 'the trap % runs as %', what, current_user;
		EXCEPTION WHEN read_only_sql_transaction THEN
			RAISE EXCEPTION 'the trap % runs as %', what, current_user;
		END $$;

	-- Functions of up to two arguments with all combinations of types, and of more with a few types, with those of
	-- pg_catalog but one, and with texts but one.
	FOR f IN
		WITH known AS (
			SELECT p.proname, p.pronargs, p.pronargdefaults, p.provariadic, p.proargtypes::oid[] AS types,
				CASE WHEN t.typtype = 'p' THEN 'text'::regtype ELSE t.oid::regtype END AS result
			FROM pg_proc AS p JOIN pg_type AS t ON t.oid = p.prorettype
			WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = ANY (calls) AND p.prokind <> 'p'
		), arity AS (
			SELECT proname, n, min(result::oid)::regtype AS result
			FROM known, generate_series(pronargs - pronargdefaults,
				CASE WHEN provariadic <> 0 THEN 4 ELSE pronargs END) AS n
			WHERE n <= 4 GROUP BY proname, n
		), signature AS (
			SELECT proname, result, '{}'::regtype[] AS types FROM arity WHERE n = 0
			UNION SELECT proname, result, ARRAY[a] FROM arity, unnest(common) AS a WHERE n = 1
			UNION SELECT proname, result, ARRAY[a, b]
				FROM arity, unnest(common) AS a, unnest(common) AS b WHERE n = 2
			UNION SELECT proname, result, ARRAY[a, b, c]
				FROM arity, unnest(few) AS a, unnest(few) AS b, unnest(few) AS c WHERE n = 3
			UNION SELECT proname, result, ARRAY['text', a, b]::regtype[]
				FROM arity, unnest(common) AS a, unnest(common) AS b WHERE n = 3
			UNION SELECT proname, result, ARRAY['text', a, b, c]::regtype[]
				FROM arity, unnest(names) AS a, unnest(names) AS b, unnest(names) AS c WHERE n = 4
			UNION SELECT proname, result,
				array_fill('text'::regtype, ARRAY[i]) || a || array_fill('text'::regtype, ARRAY[n - 1 - i])
				FROM known, generate_series(5, 8) AS n, generate_series(0, n - 1) AS i, unnest(common) AS a
				WHERE provariadic <> 0
			UNION SELECT known.proname, arity.result, (types[0:i - 1] || a::oid || types[i + 1:])::regtype[]
				FROM known JOIN arity ON arity.proname = known.proname AND arity.n = known.pronargs,
					generate_series(0, n - 1) AS i, unnest(common) AS a WHERE n BETWEEN 3 AND 4 AND provariadic = 0
			UNION SELECT proname, result, types::regtype[] FROM known
		)
		SELECT DISTINCT ON (proname, types) proname, result, array_to_string(types, ', ') AS types FROM signature
		WHERE NOT EXISTS (SELECT FROM pg_type WHERE oid = ANY (types::oid[]) AND typtype = 'p')
	LOOP
		EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', f.proname, f.types, f.result,
			format('BEGIN PERFORM public.spring(%L); END', format('%s(%s)', f.proname, f.types)));
		made := made + 1;
	END LOOP;

	-- Operators with all combinations of types, on functions that they share.
	FOR f IN
		SELECT o.oprname, a, b, CASE WHEN bool_or(o.oprresult <> 'bool'::regtype) THEN
			CASE o.oprname WHEN '||' THEN 'text' ELSE a END ELSE 'bool' END AS result
		FROM pg_operator AS o, unnest(common) AS a, unnest(common) AS b
		WHERE o.oprkind = 'b' AND o.oprnamespace = 'pg_catalog'::regnamespace
			AND (strpos(source, o.oprname) > 0
				OR o.oprname IN ('=', '<>', '<', '<=', '>', '>=', '~~', '!~~', '~~*', '!~~*'))
		GROUP BY o.oprname, a, b
	LOOP
		what := format('operator_of_%s', f.result::regtype::oid);
		IF to_regprocedure(format('public.%I(%s, %s)', what, f.a, f.b)) IS NULL THEN
			EXECUTE format('CREATE FUNCTION public.%I(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L',
				what, f.a, f.b, f.result,
				format('BEGIN PERFORM public.spring(%L); END', format('operator between %s and %s', f.a, f.b)));
		END IF;
		EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.%I)',
			f.oprname, f.a, f.b, what);
		made := made + 1;
	END LOOP;

	-- Domains in the place of types.
	FOR f IN
		SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typname = ANY (words)
			AND (typtype = 'b' AND typcategory <> 'A' OR typtype IN ('e', 'r'))
	LOOP
		EXECUTE format('CREATE DOMAIN public.%I AS pg_catalog.%1$I CHECK (public.spring(%L))',
			f.typname, 'type ' || f.typname);
		made := made + 1;
	END LOOP;

	-- Views in the place of catalogues.
	FOR f IN
		SELECT c.relname, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
		FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND NOT a.attisdropped
			AND (a.attnum > 0 OR a.attname = 'tableoid') AND a.atttypid <> 'anyarray'::regtype
		WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind IN ('r', 'v') AND c.relname = ANY (words)
		GROUP BY c.relname
	LOOP
		EXECUTE format('CREATE VIEW public.%I AS SELECT %s FROM pg_catalog.%1$I WHERE public.spring(%L)', f.relname,
			replace(f.columns, 'tableoid', 'tableoid AS source'), 'view ' || f.relname);
		made := made + 1;
	END LOOP;
	RESET ROLE;
	RETURN made;
END $arm$
