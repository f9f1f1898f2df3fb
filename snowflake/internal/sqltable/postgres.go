package sqltable

import (
	"context"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Place is what PostgreSQL says of a table. The zero Place is of servers that have no such catalogue.
type Place struct {
	Table   string // as SQL, with its schema
	Missing bool   // the connection sees none
	Others  string // the tables of that name in other schemas, if the name has no schema
	Risks   string // why a crash of the server may undo commits
}

// findQuery reads the catalogue. It neither locks nor reads the table, and resolves nothing by the search_path but the
// table's name.
//
// A stranger's table may have triggers, policies and defaults that call functions with the rights of whoever uses it.
// Trusted are superusers, the owners of the schema and of the database, the role itself, and roles of which it is a
// member. A superuser counts as a member of every role, which shows no trust.
const findQuery = `SELECT
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
			me.rolname, ': drop the table if you do not know it, or else let the owner of the schema or of the database own it')
	END,
	COALESCE((
		SELECT pg_catalog.string_agg(pg_catalog.concat(other_n.nspname, '.', other.relname), ', ')
		FROM pg_catalog.pg_class AS other
		JOIN pg_catalog.pg_namespace AS other_n ON other_n.oid OPERATOR(pg_catalog.=) other.relnamespace
		WHERE other.relname OPERATOR(pg_catalog.=) '{name}' AND (c.oid IS NULL OR other.oid OPERATOR(pg_catalog.<>) c.oid)
			AND other.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,f}') AND other.relpersistence OPERATOR(pg_catalog.<>) 't'
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

// Find returns where PostgreSQL finds the table. It returns Refused for a table of a stranger and for a temporary one.
func (t Table) Find(ctx context.Context) (place Place, err error) {
	if t.Dialect != sqldb.Postgres {
		return Place{}, nil
	}

	name, qualified := t.bareName()
	query := strings.NewReplacer("{table}", t.Name, "{name}", name).Replace(findQuery)
	var problem string
	err = Query(ctx, t.DB, query, nil, func(scan func(...any) error) error {
		return scan(&place.Table, &problem, &place.Others, &place.Risks)
	})
	place.Missing = err == nil && place.Table == ""
	switch {
	case isUnknown(err):
		return Place{}, nil
	case err == nil && problem != "":
		err = fmt.Errorf("%w: %s %s", t.Refused, place.Table, problem)
	case qualified: // the operator has chosen one of several
		place.Others = ""
	}
	return place, err
}

// createOnce creates the table unless a schema has one by now. Processes with another search_path wait for its lock, whose
// key is the first letters of snowflake. IF NOT EXISTS alone is no lock: the slower one gets a unique violation.
const createOnce = `DO $sqltable$
BEGIN
	PERFORM pg_catalog.pg_advisory_xact_lock(8317708120410055019);
	IF EXISTS (
		SELECT FROM pg_catalog.pg_class AS c
		WHERE c.relname OPERATOR(pg_catalog.=) '{name}' AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,f}')
			AND c.relpersistence OPERATOR(pg_catalog.<>) 't'
	) OR EXISTS (
		SELECT FROM pg_catalog.pg_namespace AS n
		WHERE CASE WHEN n.oid OPERATOR(pg_catalog.<>) pg_catalog.pg_my_temp_schema()
				AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
			THEN pg_catalog.to_regclass(pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', '"{name}"')) IS NOT NULL END
	) THEN
		RAISE EXCEPTION USING ERRCODE = 'duplicate_table', MESSAGE = 'another process has just created {name}';
	END IF;
	{create};
END $sqltable$`

func (t Table) create(ctx context.Context) error {
	statement := t.Create
	if name, qualified := t.bareName(); t.Dialect == sqldb.Postgres && !qualified {
		statement = strings.NewReplacer("{name}", name, "{create}", t.Create).Replace(createOnce)
	}

	_, err := t.DB.ExecContext(ctx, statement)
	if isUnknown(err) { // a server that knows no DO
		_, err = t.DB.ExecContext(ctx, t.Create)
	}
	return err
}

// bareName returns the name without quotes and schema, and whether there is a schema.
func (t Table) bareName() (name string, qualified bool) {
	before, name, qualified := strings.Cut(t.Name, ".")
	if !qualified {
		name = before
	}
	return strings.Trim(name, `"`), qualified
}

// isUnknown reports whether a server that only speaks PostgreSQL's protocol lacks what the query needs.
func isUnknown(err error) bool {
	switch State(err) {
	case "42883", "42601", "42P01", "42703", "0A000":
		return true
	}
	return false
}
