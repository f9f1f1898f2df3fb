package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

type releaseOptions struct {
	databaseOptions
	force bool
}

func releaseCommand() *cobra.Command {
	o := &releaseOptions{}
	c := &cobra.Command{
		Use:   "release WORKER",
		Short: "Take a worker away from its holder",
		Long: `A worker whose holder has died is free by itself when its lease expires. This is
for those who can't wait. A free worker is left as it is, and needs nothing.

What is done, in one statement: the epoch is raised, so that the holder can't
extend its lease any more; the lease expires at once; the horizon stays, and the
next owner starts there. So no ID comes twice, even if the holder is alive. A
holder that is alive loses the worker at its next extension, issues nothing
above the horizon, and continues with another worker or, with
lease.WithStopOnLoss, returns lease.ErrLost.

One case is not safe: the holder is alive, and before it finds out the database
fails over to a replica that lacks the release. Then both go on, if the lease
would not have expired by then. Without --force nothing is released as long as
the lease has not expired.

Workers that are reserved, for SQL functions (sqlfunc.WithLeaseTables) or by
lease.Lease.Reserve, are never released: they have no lease to lose.

` + dsnHelp,
		Example: `  sqlflake workers release --dsn postgres://app@db/shop 7
  sqlflake workers release --dsn postgres://app@db/shop \
    --namespace orders --force 7`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), c.OutOrStdout(), args[0]) },
	}

	o.addOwnFlags(c)
	c.Flags().BoolVar(&o.force, "force", false, "release a worker whose lease has not expired")
	return c
}

func (o *releaseOptions) run(ctx context.Context, out io.Writer, text string) error {
	worker, err := strconv.ParseInt(text, 10, 64)
	if err != nil || worker < 0 {
		return usage("the worker is %q, want a number from 0", text)
	}
	d, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer d.close()

	e, err := d.entry(ctx, o.namespace, worker)
	if err != nil {
		return err
	}
	name, expires := fmt.Sprintf("worker %d of namespace %q", worker, o.namespace), e.Expires.UTC().Format(time.RFC3339)
	holder := fmt.Sprintf("%s, pid %d", cmp.Or(printable(e.Holder.Host), "an unknown host"), e.Holder.PID)
	switch {
	case e.Reserved():
		return fmt.Errorf("%s is %s: its IDs would repeat", name, hostOf(e))
	case !e.Held:
		_, err = fmt.Fprintf(out, "%s is free since %s\n", name, expires)
		return err
	case !o.force:
		return fmt.Errorf(`%s is held by %s, and its lease expires at %s unless it is extended.
Make sure that the holder is dead, or wait. Then --force takes the worker away.
"sqlflake help workers release" explains what that means for a holder that is
alive`, name, holder, expires)
	}

	err = d.Revoke(ctx, e)
	if errors.Is(err, lease.ErrLost) {
		return fmt.Errorf("%s has changed hands meanwhile; nothing was released", name)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s is released.\nIf %s is alive, it issues no ID above its horizon,\n"+
		"where the next owner begins.\n", name, holder)
	return err
}

type moveOptions struct {
	databaseOptions
	to string
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

	o.addOwnFlags(c)
	c.Flags().StringVar(&o.to, "to", "",
		"`layout` after the move: a preset, or a text as \"sqlflake layout\" prints it (required)")
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
		o.namespace, layout, start.UTC().Format(time.RFC3339Nano))
	return err
}
