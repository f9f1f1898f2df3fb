package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func releaseCommand() *cobra.Command {
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
	}
	open := databaseFlags(c)
	namespace := c.Flags().String("namespace", lease.DefaultNamespace, "the `NAME` of the namespace")
	force := c.Flags().Bool("force", false, "release a worker whose lease has not expired")
	c.RunE = func(c *cobra.Command, args []string) error {
		worker, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || worker < 0 {
			return usage("the worker is %q, want a number from 0", args[0])
		}
		ctx := c.Context()
		d, err := open(ctx)
		if err != nil {
			return err
		}
		defer d.close()
		e, err := d.entry(ctx, *namespace, worker)
		switch {
		case err != nil:
			return err
		case e.Reserved():
			return fmt.Errorf("worker %d of namespace %q is %s: its IDs would repeat", worker, *namespace, hostOf(e))
		case !e.Held:
			_, err = fmt.Fprintf(c.OutOrStdout(), "worker %d of namespace %q is free since %s\n", worker, *namespace, e.Expires.UTC().Format(time.RFC3339))
			return err
		}
		holder := fmt.Sprintf("%s, pid %d", cmp.Or(printable(e.Holder.Host), "an unknown host"), e.Holder.PID)
		if !*force {
			return fmt.Errorf("worker %d of namespace %q is held by %s, and its lease expires at %s unless it is extended.\n"+
				"Make sure that the holder is dead, or wait. Then --force takes the worker away. \"sqlflake help workers release\"\n"+
				"explains what that means for a holder that is alive", worker, *namespace, holder, e.Expires.UTC().Format(time.RFC3339))
		}
		after := e
		if err = d.Revoke(ctx, e); err == nil {
			after, err = d.entry(ctx, *namespace, worker)
		}
		if errors.Is(err, lease.ErrLost) {
			return fmt.Errorf("worker %d of namespace %q has changed hands meanwhile; nothing was released", worker, *namespace)
		} else if err != nil {
			return err
		}
		horizon := "its horizon"
		if at, ok := after.HorizonTime(); ok && after.Epoch == e.Epoch+1 { // nobody has taken it yet
			horizon = instant(at)
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "worker %d of namespace %q is released. If %s is alive, it issues no ID of %s or later;\n"+
			"the IDs of the next owner begin there.\n", worker, *namespace, holder, horizon)
		return err
	}
	return c
}

// entry returns the row of a worker.
func (d *database) entry(ctx context.Context, namespace string, worker int64) (leasestore.Entry, error) {
	entries, err := d.List(ctx, namespace)
	if err != nil {
		return leasestore.Entry{}, err
	}
	if i := slices.IndexFunc(entries, func(e leasestore.Entry) bool { return e.Worker == worker }); i >= 0 {
		return entries[i], nil
	}
	return leasestore.Entry{}, fmt.Errorf("worker %d of namespace %q was never taken", worker, namespace)
}
