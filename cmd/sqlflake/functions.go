package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// dialects are the databases by name.
var dialects = map[string]sqldb.Dialect{
	"postgres": sqldb.Postgres, "mysql": sqldb.MySQL, "mariadb": sqldb.MySQL, "sqlite": sqldb.SQLite,
}

// dialectFlag adds --dialect, which is required.
func dialectFlag(c *cobra.Command, names ...string) *string {
	dialect := choiceFlag(c, "dialect", "", "the `DATABASE`: "+strings.Join(names, ", ")+" (required)", names...)
	_ = c.MarkFlagRequired("dialect") // it exists
	return dialect
}

func functionsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "functions",
		Short: "Print the SQL functions that read and issue IDs",
		Long: `It prints a script for psql or mariadb, and connects to nothing. The functions
are snowflake_time, snowflake_parts, snowflake_min and snowflake_layout, and
with --worker also snowflake_next, which issues IDs. No generator and no lease
may have that worker: --namespace reserves it in the lease table.

MySQL lacks what the functions need; MariaDB 10.6 has it. In SQLite functions
come from the program.`,
		Example: `  sqlflake sql functions --dialect postgres | psql
  sqlflake sql functions --dialect mariadb --worker 1023 \
    --namespace default | mariadb shop
  sqlflake sql functions --dialect postgres --drop`,
		Args: cobra.NoArgs,
	}
	layout := layoutFlag(c, false)
	dialect := dialectFlag(c, "postgres", "mariadb")
	worker := c.Flags().Int64("worker", -1, "the worker `N` of snowflake_next (default none)")
	namespace := c.Flags().String("namespace", "", "reserve --worker in the namespace `NAME` of the lease table")
	table := c.Flags().String("table", "snowflake_leases", "the `NAME` of the lease table")
	schema := c.Flags().String("schema", "public", "the `NAME` of the schema of PostgreSQL")
	prefix := c.Flags().String("name", "snowflake", "the `NAME` that those of the functions begin with")
	drop := c.Flags().Bool("drop", false, "print the statements that remove the functions, and their state")
	c.RunE = func(c *cobra.Command, _ []string) error {
		opts := []sqlfunc.Option{sqlfunc.WithSchema(*schema), sqlfunc.WithName(*prefix)}
		switch {
		case *worker >= 0:
			opts = append(opts, sqlfunc.WithWorker(*worker))
		case *namespace != "":
			return usage("--namespace reserves a worker: give --worker, too")
		}
		if *namespace != "" {
			opts = append(opts, sqlfunc.WithLeaseTable(*table, *namespace))
		}
		functions, err := sqlfunc.New(layout.Layout, opts...)
		if err != nil {
			return usageError{err.Error()}
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
		_, err = fmt.Fprint(c.OutOrStdout(), script)
		return err
	}
	return c
}
