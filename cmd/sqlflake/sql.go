package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func sqlCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:     "sql COMMAND",
		Short:   "Print SQL for functions and lease tables",
		Example: "  sqlflake sql leases --dialect postgres",
	}
	c.AddCommand(functionsCommand(now), leasesCommand())
	return c
}

// dialects are the databases by name.
var dialects = map[string]sqldb.Dialect{
	"postgres": sqldb.Postgres, "mysql": sqldb.MySQL, "mariadb": sqldb.MySQL, "sqlite": sqldb.SQLite,
}

// dialectFlag adds --dialect, which is required.
func dialectFlag(c *cobra.Command, dialect *string, names ...string) {
	choiceFlag(c, dialect, "dialect", "kind of the `database`: "+strings.Join(names, ", ")+" (required)", names...)
	_ = c.MarkFlagRequired("dialect") // it exists
}

type leasesOptions struct{ dialect, tables string }

func leasesCommand() *cobra.Command {
	o := &leasesOptions{}
	c := &cobra.Command{
		Use:   "leases",
		Short: "Print the SQL that creates the lease tables",
		Long: `sqllease.Store.Migrate and gormplugin.Open run these statements; they are for
migrations of your own. Never delete rows of the tables: they hold up to which
time IDs were issued.`,
		Example: `  sqlflake sql leases --dialect postgres >migrations/001_leases.sql
  sqlflake sql leases --dialect mysql --tables shop.snowflake_`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.OutOrStdout()) },
	}

	dialectFlag(c, &o.dialect, "postgres", "mysql", "mariadb", "sqlite")
	tablesFlag(c, &o.tables)
	return c
}

func (o *leasesOptions) run(out io.Writer) error {
	schema, err := sqllease.Schema(dialects[o.dialect], o.tables)
	if err != nil {
		return usageError{err.Error()}
	}

	_, err = fmt.Fprintln(out, strings.Join(schema, ";\n\n")+";")
	return err
}

type functionsOptions struct {
	layout    chosenLayout
	dialect   string
	issue     bool // --worker is given
	worker    int64
	namespace string
	tables    string
	schema    string
	name      string
	drop      bool
}

func functionsCommand(now func() time.Time) *cobra.Command {
	o := &functionsOptions{}
	c := &cobra.Command{
		Use:   "functions",
		Short: "Print the SQL functions that read and issue IDs",
		Long: `It prints a script for psql or mariadb, and connects to nothing. The functions
are snowflake_time, snowflake_parts, snowflake_min and snowflake_layout, and
in PostgreSQL with --worker also snowflake_next, which issues IDs. No generator
and no lease may have that worker: --namespace reserves it in the lease tables.

MySQL lacks what the functions need; MariaDB 10.6 has it.`,
		Example: `  sqlflake sql functions --dialect postgres | psql
  sqlflake sql functions --dialect postgres --worker 1023 \
    --namespace default | psql shop
  sqlflake sql functions --dialect postgres --drop`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.issue = c.Flags().Changed("worker")
			return o.run(streamsOf(c), now())
		},
	}
	o.addFlags(c)
	return c
}

func (o *functionsOptions) addFlags(c *cobra.Command) {
	layoutFlag(c, &o.layout)
	dialectFlag(c, &o.dialect, "postgres", "mariadb")
	c.Flags().Int64Var(&o.worker, "worker", 0, "worker `number` of snowflake_next (default none)")
	c.Flags().StringVar(&o.namespace, "namespace", "", "reserve --worker in the namespace `name` of the lease tables")
	tablesFlag(c, &o.tables)
	c.Flags().StringVar(&o.schema, "schema", "public", "`name` of the schema of PostgreSQL")
	c.Flags().StringVar(&o.name, "name", "snowflake", "`text` that the names of the functions begin with")
	c.Flags().BoolVar(&o.drop, "drop", false, "print the statements that remove the functions, and their state")
}

func (o *functionsOptions) run(s streams, now time.Time) error {
	switch {
	case o.issue && o.dialect != "postgres":
		return usage("--worker: functions of %s issue no IDs, only those of postgres do", o.dialect)
	case o.issue:
		warnEnding(s.errs, "snowflake_next", o.layout.Layout, now)
	case o.namespace != "":
		return usage("--namespace reserves a worker: give --worker, too")
	}

	functions, err := o.functions()
	if err != nil {
		return usageError{err.Error()}
	}
	script, err := o.script(functions)
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.out, script)
	return err
}

func (o *functionsOptions) functions() (*sqlfunc.Functions, error) {
	opts := []sqlfunc.Option{sqlfunc.WithSchema(o.schema), sqlfunc.WithName(o.name)}
	if o.issue {
		opts = append(opts, sqlfunc.WithWorker(o.worker))
	}
	if o.namespace != "" {
		opts = append(opts, sqlfunc.WithLeaseTables(o.tables, o.namespace))
	}
	return sqlfunc.New(o.layout.Layout, opts...)
}

func (o *functionsOptions) script(functions *sqlfunc.Functions) (string, error) {
	dialect := dialects[o.dialect]
	if o.drop {
		statements, err := functions.Drop(dialect)
		return strings.Join(statements, ";\n") + ";\n", err
	}
	return functions.Script(dialect)
}
