package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

func leasesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "leases",
		Short: "Print the SQL that creates the lease table",
		Long: `sqllease.Store.Migrate and gormplugin.Open run this statement; it is for
migrations of your own. Never delete rows of the table: they hold up to which
time IDs were issued.`,
		Example: `  sqlflake sql leases --dialect postgres >migrations/001_leases.sql
  sqlflake sql leases --dialect mysql --table shop.leases`,
		Args: cobra.NoArgs,
	}
	dialect := dialectFlag(c, "postgres", "mysql", "mariadb", "sqlite")
	table := c.Flags().String("table", "snowflake_leases", "the `NAME` of the table, table or schema.table")
	c.RunE = func(c *cobra.Command, _ []string) error {
		schema, err := sqllease.Schema(dialects[*dialect], *table)
		if err != nil {
			return usageError{err.Error()}
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), schema+";")
		return err
	}
	return c
}
