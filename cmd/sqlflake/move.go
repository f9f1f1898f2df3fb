package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func moveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "move",
		Short: "Announce another layout for a namespace",
		Long: `Run it an hour before you deploy programs with lease.WithFormerLayout, so that
these do not have to wait until each replica knows. Programs that run are not
disturbed, but those of a version that can't move are refused. The layout that
the namespace has withdraws the announcement. Don't leave it for days: when the
database fails over later, only programs of the next layout get a worker.

` + dsnHelp,
		Example: `  sqlflake workers move --dsn postgres://app@db/shop --to clustered`,
		Args:    cobra.NoArgs,
	}
	open, to := databaseFlags(c), c.Flags().String("to", "", "the `LAYOUT`: the name of a preset, or a text as of \"sqlflake layout\" (required)")
	namespace := c.Flags().String("namespace", lease.DefaultNamespace, "the `NAME` of the namespace")
	_ = c.MarkFlagRequired("to") // it exists
	c.RunE = func(c *cobra.Command, _ []string) error {
		layout, err := parseLayout(*to)
		if err != nil {
			return usageError{err.Error()}
		}
		d, err := open(c.Context())
		if err != nil {
			return err
		}
		defer d.close()
		ready, err := d.Announce(c.Context(), *namespace, layout)
		switch {
		case err != nil:
			return err
		case ready.IsZero():
			_, err = fmt.Fprintf(c.OutOrStdout(), "namespace %q has the layout, and moves to no other\n", *namespace)
		default:
			_, err = fmt.Fprintf(c.OutOrStdout(), "namespace %q can move from %s on, when the last lease of its layout has ended\n",
				*namespace, ready.UTC().Format(time.RFC3339))
		}
		return err
	}
	return c
}
