package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// dialects are the databases by name.
var dialects = map[string]sqldb.Dialect{
	"postgres": sqldb.Postgres, "mysql": sqldb.MySQL, "mariadb": sqldb.MySQL, "sqlite": sqldb.SQLite,
}

func functionsCommand() *command {
	c := newCommand("sql functions", "", "the SQL functions that read and issue IDs in a database", `
It prints a script for psql or mariadb, and connects to nothing. The functions are
snowflake_time, snowflake_parts, snowflake_min and snowflake_layout, and with
-worker also snowflake_next, which issues IDs. No generator and no lease may have
that worker: -namespace reserves it in the lease table.

MySQL lacks what the functions need; MariaDB 10.6 has it. In SQLite functions come
from the program.
`, `
snowflake sql functions -dialect postgres | psql
snowflake sql functions -dialect mariadb -worker 1023 -namespace default | mariadb shop
snowflake sql functions -dialect postgres -drop
`)
	layout := c.layoutFlag()
	dialect := c.choice("dialect", "", "the `DATABASE`: postgres or mariadb", "postgres", "mariadb")
	worker := c.flags.Int64("worker", -1, "the worker `N` of snowflake_next (default none)")
	namespace := c.flags.String("namespace", "", "reserve -worker in the namespace `NAME` of the lease table")
	table := c.flags.String("table", "", "the `NAME` of the lease table (default snowflake_leases)")
	schema := c.flags.String("schema", "", "the `NAME` of the schema of PostgreSQL (default public)")
	prefix := c.flags.String("name", "", "the `NAME` that those of the functions begin with (default snowflake)")
	drop := c.flags.Bool("drop", false, "print the statements that remove the functions, and their state")
	c.run = func(_ context.Context, env environment, _ []string) error {
		opts := []sqlfunc.Option{sqlfunc.WithSchema(cmp.Or(*schema, "public")), sqlfunc.WithName(cmp.Or(*prefix, "snowflake"))}
		switch {
		case *worker >= 0:
			opts = append(opts, sqlfunc.WithWorker(*worker))
		case *namespace != "":
			return usage("-namespace reserves a worker: give -worker, too")
		}
		if *namespace != "" {
			opts = append(opts, sqlfunc.WithLeaseTable(*table, *namespace))
		}
		functions, err := sqlfunc.New(layout.Layout, opts...)
		if err != nil {
			return usage("%v", err)
		}
		script, err := functions.Script(dialects[*dialect])
		if *drop {
			var statements []string
			statements, err = functions.Drop(dialects[*dialect])
			script = strings.Join(statements, ";\n") + ";\n"
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(env.out, script)
		return err
	}
	return c
}

func leasesCommand() *command {
	c := newCommand("sql leases", "", "the SQL that creates the lease table", `
sqllease.Store.Migrate and gormplugin.Open run this statement; it is for migrations
of your own. Never delete rows of the table: they hold up to which time IDs were
issued.
`, `
snowflake sql leases -dialect postgres >migrations/001_leases.sql
snowflake sql leases -dialect mysql -table shop.leases
`)
	dialect := c.choice("dialect", "", "the `DATABASE`: postgres, mysql, mariadb or sqlite", "postgres", "mysql", "mariadb", "sqlite")
	table := c.flags.String("table", "snowflake_leases", "the `NAME` of the table, table or schema.table")
	c.run = func(_ context.Context, env environment, _ []string) error {
		schema, err := sqllease.Schema(dialects[*dialect], *table)
		if err != nil {
			return usage("%v", err)
		}
		_, err = fmt.Fprintln(env.out, schema+";")
		return err
	}
	return c
}
