package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/timetext"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

type moveOptions struct {
	databaseOptions
	namespace, to string
}

func moveCommand() *cobra.Command {
	o := &moveOptions{}
	c := &cobra.Command{
		Use:   "move",
		Short: "Give a namespace another layout",
		Long: `"sqlflake layout OLD NEW" says when the new layout can begin.

End all processes with the layout before, and let nothing start them again (in
Kubernetes the strategy Recreate). Then run this. Then start those with the new
layout: lease.Open waits for the time that is printed. No ID is issued from the
end of the last process until then. All IDs with the new layout are greater than
all before.

It refuses to move while a worker is held. The worker of a killed process is
free after two windows, or with "sqlflake workers release --force".

A replica that is promoted right after it may not know the move. So until each
replica shows the new layout ("sqlflake workers --json"), start nothing with the
one before, and after a failover before that run this again first. If in doubt,
run it again: it changes nothing if the namespace has the layout.

` + dsnHelp,
		Example: `  sqlflake workers move --dsn postgres://app@db/shop --to clustered`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout()) },
	}

	o.addFlags(c)
	c.Flags().StringVar(&o.to, "to", "",
		"`layout` after the move: a preset, or a text as \"sqlflake layout\" prints it (required)")
	c.Flags().StringVar(&o.namespace, "namespace", lease.DefaultNamespace, "`name` of the namespace")
	_ = c.MarkFlagRequired("to") // it exists
	return c
}

func (o *moveOptions) run(ctx context.Context, out io.Writer) error {
	layout, err := parseLayout(o.to)
	if err != nil {
		return usageError{err.Error()}
	}
	d, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer d.close()

	start, err := d.Move(ctx, o.namespace, layout)
	var held *sqllease.HeldError
	if errors.As(err, &held) && !held.Reserved() {
		return fmt.Errorf("%w.\n\"sqlflake workers release --force %d\" revokes it, if its holder is dead",
			err, held.Worker)
	}
	if err != nil {
		return err
	}

	_, err = fmt.Fprintf(out, "namespace %q has the layout %q. Its IDs begin at %s.\n",
		o.namespace, layout, timetext.Instant(start))
	return err
}
