package sqltable

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Place is what PostgreSQL says of a table.
type Place struct {
	Table   string // as SQL, with its schema
	Schema  string // as SQL
	Missing bool   // the connection sees none
	Others  string // the tables of that name in other schemas, if the name has no schema
	Risks   string // why a crash of the server may undo commits
}

// findQuery reads the catalogue. It neither locks nor reads the table, and resolves nothing by the search_path but the
// table's name.
//
// A stranger's table may have triggers, policies and defaults that call functions with the rights of whoever uses it.
// Trusted are superusers, the owners of the schema and of the database, the role itself, and the roles that it is a
// member of. A superuser counts as a member of every role, which shows no trust.
const findQuery = `SELECT {part},
	COALESCE(pg_catalog.quote_ident(n.nspname), ''),
	CASE WHEN c.oid IS NULL THEN ''
		ELSE pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(c.relname)) END,
	CASE
		WHEN c.oid IS NULL THEN ''
		WHEN c.relpersistence OPERATOR(pg_catalog.=) 't' THEN 'is temporary, so every connection has its own'
		WHEN owner.rolsuper OR owner.oid OPERATOR(pg_catalog.=) me.oid
			OR owner.oid OPERATOR(pg_catalog.=) n.nspowner OR owner.oid OPERATOR(pg_catalog.=) d.datdba
			OR NOT me.rolsuper AND pg_catalog.pg_has_role(owner.oid, 'USAGE')
		THEN ''
		ELSE pg_catalog.concat('belongs to the role ', owner.rolname, ', and may execute its code with the rights of ',
			me.rolname, ': drop the table if you do not know it, ',
			'or else let the owner of the schema or of the database own it')
	END,
	COALESCE((
		SELECT pg_catalog.string_agg(pg_catalog.concat(other_n.nspname, '.', other.relname), ', ')
		FROM pg_catalog.pg_class AS other
		JOIN pg_catalog.pg_namespace AS other_n ON other_n.oid OPERATOR(pg_catalog.=) other.relnamespace
		WHERE other.relname OPERATOR(pg_catalog.=) '{name}'
			AND (c.oid IS NULL OR other.oid OPERATOR(pg_catalog.<>) c.oid)
			AND other.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,f}')
			AND other.relpersistence OPERATOR(pg_catalog.<>) 't'
	), ''),
	pg_catalog.concat_ws(', ',
		CASE WHEN pg_catalog.current_setting('fsync', true) OPERATOR(pg_catalog.=) 'off' THEN 'fsync = off' END,
		CASE WHEN pg_catalog.current_setting('synchronous_commit', true) OPERATOR(pg_catalog.=) 'off'
			THEN 'synchronous_commit = off' END,
		CASE WHEN c.relpersistence OPERATOR(pg_catalog.<>) 'p' THEN 'the table is unlogged' END)
FROM pg_catalog.pg_roles AS me
JOIN pg_catalog.pg_database AS d ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
LEFT JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('{table}')::pg_catalog.oid
LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
LEFT JOIN pg_catalog.pg_roles AS owner ON owner.oid OPERATOR(pg_catalog.=) c.relowner
WHERE me.rolname OPERATOR(pg_catalog.=) CURRENT_USER`

// Find returns where PostgreSQL finds each table, in one statement; nil for servers that have no such catalogue. It
// returns Refused for a table of a stranger, for a temporary one, and for tables in two schemas.
func (t Tables) Find(ctx context.Context) ([]Place, error) {
	if t.Dialect != sqldb.Postgres {
		return nil, nil
	}

	var queries []string
	for i, part := range t.Parts {
		name, _ := bareName(part.Name)
		fill := strings.NewReplacer("{part}", strconv.Itoa(i), "{table}", part.Name, "{name}", name)
		queries = append(queries, fill.Replace(findQuery))
	}
	places := make([]Place, len(t.Parts))
	problem := ""
	err := Query(ctx, t.DB, strings.Join(queries, "\nUNION ALL\n"), nil, func(scan func(...any) error) error {
		var part int
		var place Place
		var about string
		if err := scan(&part, &place.Schema, &place.Table, &about, &place.Others, &place.Risks); err != nil {
			return err
		}
		place.Missing = place.Table == ""
		if about != "" {
			problem = place.Table + " " + about
		}
		if _, qualified := bareName(t.Parts[part].Name); qualified { // the operator has chosen one of several
			place.Others = ""
		}
		places[part] = place
		return nil
	})

	switch {
	case isUnknown(err):
		return nil, nil
	case err != nil:
		return nil, err
	case problem != "":
		return nil, fmt.Errorf("%w: %s", t.Refused, problem)
	}
	return places, t.inOneSchema(places)
}

// inOneSchema returns Refused if the search_path leads to tables in two schemas.
func (t Tables) inOneSchema(places []Place) error {
	first := places[0]
	for _, place := range places[1:] {
		areFound := !first.Missing && !place.Missing
		if areFound && first.Schema != place.Schema {
			return fmt.Errorf("%w: %s and %s belong together, and the search_path leads to two schemas: %s", t.Refused,
				first.Table, place.Table, fmt.Sprintf(t.Remedy, first.Table))
		}
	}
	return nil
}

// createOnce creates the tables unless a schema has one by now. Processes with another search_path wait for its lock,
// whose key is the first letters of snowflake. IF NOT EXISTS alone is no lock: the slower one gets a unique violation.
const createOnce = `DO $sqltable$
BEGIN
	PERFORM pg_catalog.pg_advisory_xact_lock(8317708120410055019);
	IF EXISTS (
		SELECT FROM pg_catalog.pg_class AS c
		WHERE c.relname OPERATOR(pg_catalog.=) ANY ('{{names}}')
			AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,f}') AND c.relpersistence OPERATOR(pg_catalog.<>) 't'
	) OR EXISTS (
		SELECT FROM pg_catalog.pg_namespace AS n, pg_catalog.unnest('{{names}}'::pg_catalog.text[]) AS name
		WHERE CASE WHEN n.oid OPERATOR(pg_catalog.<>) pg_catalog.pg_my_temp_schema()
				AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
			THEN pg_catalog.to_regclass(pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.',
				pg_catalog.quote_ident(name))) IS NOT NULL END
	) THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_table', MESSAGE = 'another process has just created {names}';
	END IF;
	{create};
END $sqltable$`

// createAll creates all tables.
func (t Tables) createAll(ctx context.Context) error {
	var names, creates []string
	for _, part := range t.Parts {
		name, _ := bareName(part.Name)
		names, creates = append(names, name), append(creates, part.Create)
	}

	_, qualified := bareName(t.Parts[0].Name)
	if t.Dialect == sqldb.Postgres && !qualified {
		fill := strings.NewReplacer("{names}", strings.Join(names, ","), "{create}", strings.Join(creates, ";\n\t"))
		_, err := t.DB.ExecContext(ctx, fill.Replace(createOnce))
		if !isUnknown(err) {
			return err
		}
		// This server knows no DO: create the tables one by one.
	}

	for _, create := range creates {
		if _, err := t.DB.ExecContext(ctx, create); err != nil {
			return err
		}
	}
	return nil
}

// bareName returns the name without quotes and schema, and whether there is a schema.
func bareName(table string) (name string, qualified bool) {
	dot := strings.IndexByte(table, '.')
	return strings.Trim(table[dot+1:], `"`), dot >= 0
}

// isUnknown reports whether a server that only speaks PostgreSQL's protocol lacks what the query needs.
func isUnknown(err error) bool {
	return slices.Contains([]string{"42883", "42601", "42P01", "42703", "0A000"}, State(err))
}
