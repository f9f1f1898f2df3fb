package adopt_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// traps makes a function and an operator of each name and each combination of types, all of which fail.
const traps = `DO $do$
DECLARE
	types CONSTANT regtype[] := '{bool,int2,int4,int8,text,name,"char",oid,regclass,regtype}';
	names CONSTANT text[] := '{current_setting,set_config,to_regclass,format,format_type,pg_get_expr,generate_subscripts,max}';
	operators CONSTANT text[] := '{=,<>,<,>,>=,||}';
	body CONSTANT text := 'BEGIN RAISE EXCEPTION ''a trap has sprung''; END';
	called record;
BEGIN
	FOR called IN
		SELECT f, format('%s', a) AS arguments FROM unnest(names) AS f, unnest(types) AS a
		UNION ALL SELECT f, format('%s, %s', a, b) FROM unnest(names || 'compared'::text) AS f, unnest(types) AS a, unnest(types) AS b
		UNION ALL SELECT f, format('%s, %s, %s', a, b, c) FROM unnest('{format,set_config,pg_get_expr}'::text[]) AS f,
			unnest(types) AS a, unnest(types) AS b, unnest(types) AS c
	LOOP
		EXECUTE format('CREATE FUNCTION {traps}.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', called.f, called.arguments,
			CASE called.f WHEN 'compared' THEN 'bool' ELSE 'text' END, body);
	END LOOP;
	FOR called IN SELECT o, a, b FROM unnest(operators) AS o, unnest(types) AS a, unnest(types) AS b
	LOOP
		EXECUTE format('CREATE OPERATOR {traps}.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = {traps}.compared)', called.o, called.a, called.b);
	END LOOP;
END $do$`

// Whoever may create objects in a schema of the search_path can make such traps.
func TestDropAutoIncrementRunsNoCodeOfStrangers(t *testing.T) {
	target := testdb.Postgres(t)
	admin := plain(t, target)
	strangers, own := admin.schema(t)+"_traps", `"`+admin.schema(t)+`.own"`
	t.Cleanup(func() {
		_, err := target.Open(t).Exec("DROP SCHEMA IF EXISTS " + strangers + ", " + own + " CASCADE")
		must(t, err)
	})
	admin.exec(t, "CREATE SCHEMA "+strangers, "CREATE SCHEMA "+own, strings.ReplaceAll(traps, "{traps}", strangers))
	gen, err := snowflake.New(0)
	must(t, err)

	for _, path := range []string{strangers + ", " + own, strangers + ", " + own + ", pg_catalog"} {
		db := single(t, target)
		db.exec(t, "SET search_path = "+own, "CREATE TABLE old_groups (id serial PRIMARY KEY, name text CHECK (length(name) > 0))",
			"CREATE TABLE refers (group_id int REFERENCES old_groups)", "INSERT INTO old_groups (name) VALUES ('a')",
			"SET search_path = "+path)
		must(t, db.Use(gormplugin.New(gen, gormplugin.WithMinID(2))))
		must(t, db.Transaction(func(tx *gorm.DB) error {
			must(t, adopt.DropAutoIncrement(tx, &oldGroup{}))
			var after string
			must(t, tx.Raw("SHOW search_path").Row().Scan(&after))
			equal(t, "search_path in the transaction", after, path)
			return nil
		}))
		equal(t, "bigint columns", admin.count(t, "pg_attribute", "attrelid IN (?::regclass, ?::regclass) AND atttypid = 'bigint'::regtype",
			own+".old_groups", own+".refers"), 2)
		equal(t, "sequences", admin.count(t, "pg_class", "relkind = 'S' AND relnamespace = ?::regnamespace", own), 0)
		db.exec(t, "DROP TABLE refers, old_groups")
	}
}
