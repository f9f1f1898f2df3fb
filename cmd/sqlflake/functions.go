package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
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

func functionsCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "functions",
		Short: "Print the SQL functions that read and issue IDs",
		Long: `It prints a script for psql or mariadb, and connects to nothing. The functions
are snowflake_time, snowflake_parts, snowflake_min and snowflake_layout, and
in PostgreSQL with --worker also snowflake_next, which issues IDs. No generator
and no lease may have that worker: --namespace reserves it in the lease tables.

MySQL lacks what the functions need; MariaDB 10.6 has it. In SQLite functions
come from the program. For ClickHouse, snowflake_time and snowflake_min call its
own functions, which know ticks of 1 ms with 22 bits below.`,
		Example: `  sqlflake sql functions --dialect postgres | psql
  sqlflake sql functions --dialect postgres --worker 1023 \
    --namespace default | psql shop
  sqlflake sql functions --dialect postgres --drop`,
		Args: cobra.NoArgs,
	}
	layout := layoutFlag(c, false)
	dialect := dialectFlag(c, "postgres", "mariadb", clickHouse)
	worker := c.Flags().Int64("worker", 0, "the worker `N` of snowflake_next (default none)")
	namespace := c.Flags().String("namespace", "", "reserve --worker in the namespace `NAME` of the lease tables")
	tables := tablesFlag(c)
	schema := c.Flags().String("schema", "public", "the `NAME` of the schema of PostgreSQL")
	prefix := c.Flags().String("name", "snowflake", "the `NAME` that those of the functions begin with")
	drop := c.Flags().Bool("drop", false, "print the statements that remove the functions, and their state")
	c.RunE = func(c *cobra.Command, _ []string) error {
		opts := []sqlfunc.Option{sqlfunc.WithSchema(*schema), sqlfunc.WithName(*prefix)}
		issue := c.Flags().Changed("worker")
		switch {
		case issue && *dialect != "postgres":
			return usage("--worker: functions of %s issue no IDs, only those of postgres do", *dialect)
		case issue:
			opts = append(opts, sqlfunc.WithWorker(*worker))
			warnEnding(c, "snowflake_next", layout.Layout, now())
		case *namespace != "":
			return usage("--namespace reserves a worker: give --worker, too")
		}
		if *namespace != "" {
			opts = append(opts, sqlfunc.WithLeaseTables(*tables, *namespace))
		}
		functions, err := sqlfunc.New(layout.Layout, opts...)
		if err != nil {
			return usageError{err.Error()}
		}
		if *dialect == clickHouse {
			return printClickHouse(c, layout.Layout, *prefix, *drop)
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

const clickHouse = "clickhouse"

// printClickHouse prints functions of ClickHouse, whose own ones have a time of 41 bits in milliseconds above 22 other bits:
// https://clickhouse.com/docs/sql-reference/functions/uuid-functions#snowflakeidtodatetime64
// toDateTime64 cuts off what is below a tick. So snowflake_min has the tick of the time, as Layout.MinAt and on the others.
func printClickHouse(c *cobra.Command, l snowflake.Layout, name string, drop bool) error {
	first := l.Fields()[0]
	if first.Name != snowflake.FieldTime || l.Bits()-first.Bits != 22 || l.Tick() != time.Millisecond || l.Period() != l.Tick() ||
		l.Epoch().UnixNano()%1e6 != 0 || l.Epoch().UnixMilli() < 0 {
		return fmt.Errorf("ClickHouse reads IDs with 22 bits below a time in whole milliseconds since 1970 or later only, not those of %q", l)
	}
	script := fmt.Sprintf("CREATE OR REPLACE FUNCTION %[1]s_time AS (id) -> snowflakeIDToDateTime64(toUInt64(id), %[2]d, 'UTC');\n"+
		"CREATE OR REPLACE FUNCTION %[1]s_min AS (time) -> dateTime64ToSnowflakeID(toDateTime64(time, 3, 'UTC'), %[2]d);\n",
		name, l.Epoch().UnixMilli())
	if drop {
		script = fmt.Sprintf("DROP FUNCTION IF EXISTS %[1]s_time;\nDROP FUNCTION IF EXISTS %[1]s_min;\n", name)
	}
	_, err := fmt.Fprint(c.OutOrStdout(), script)
	return err
}
