package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

func leasesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "leases",
		Short: "Print the SQL that creates the lease tables",
		Long: `sqllease.Store.Migrate and gormplugin.Open run these statements; they are for
migrations of your own. Never delete rows of the tables: they hold up to which
time IDs were issued.`,
		Example: `  sqlflake sql leases --dialect postgres >migrations/001_leases.sql
  sqlflake sql leases --dialect mysql --tables shop.snowflake_`,
		Args: cobra.NoArgs,
	}
	dialect := dialectFlag(c, "postgres", "mysql", "mariadb", "sqlite")
	prefix := tablesFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		schema, err := sqllease.Schema(dialects[*dialect], *prefix)
		if err != nil {
			return usageError{err.Error()}
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), strings.Join(schema, ";\n\n")+";")
		return err
	}
	return c
}
