package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func newCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "new",
		Short: "Make IDs",
		Long: `IDs are unique only if no other process has the same worker, so there is no
default worker. Either of:

  --dsn DSN                 leases a worker for the moment, in the lease table
                            of the application, and gives it back
  --worker N --state FILE   takes a worker that nobody else has. The file holds
                            up to which time IDs were made, and a lock, so that
                            neither a second call nor a clock that was set back
                            repeats an ID. Keep the file. It is created.

With --dsn the namespace must be in use, or have a share of the workers, so that
a wrong database is no source of IDs, and its layout is used. Layouts with other
fields, such as a datacenter, need --field with the values that the application
has. After an error the IDs printed so far are valid.

` + dsnHelp,
		Example: `  sqlflake new --dsn postgres://app@db/shop
  sqlflake new --dsn postgres://app@db/shop --namespace orders -n 100 --json
  sqlflake new --worker 1023 --state ~/.worker-1023.json --as base32`,
		Args: cobra.NoArgs,
	}
	chosen := layoutFlag(c, false)
	open := databaseFlags(c)
	count := c.Flags().IntP("count", "n", 1, "how many IDs, `N`")
	worker := c.Flags().Int64("worker", 0, "the worker `N` that nobody else has; needs --state")
	state := c.Flags().String("state", "", "the `FILE` with the state of --worker")
	namespace := c.Flags().String("namespace", lease.DefaultNamespace, "the `NAME` of the namespace")
	var fields []snowflake.Option
	c.Flags().Func("field", "a `FIELD=N` of the layout, such as datacenter=3; each but the worker is needed", func(text string) error {
		name, number, _ := strings.Cut(text, "=")
		value, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return errors.New("want a name, = and a number")
		}
		fields = append(fields, snowflake.WithField(name, value))
		return nil
	})
	wait := c.Flags().Duration("wait", 30*time.Second, "how long to wait for a free worker, a `DURATION`")
	as := choiceFlag(c, "as", "decimal", "the `FORM` of the output: decimal, base32 or base62 (default decimal)", "decimal", "base32", "base62")
	asJSON := c.Flags().Bool("json", false, "print a JSON object a line, with IDs as strings and their fields")
	c.MarkFlagsRequiredTogether("worker", "state")
	c.MarkFlagsMutuallyExclusive("dsn", "worker")
	_ = c.MarkFlagFilename("state") // it exists
	forms := map[string]func(snowflake.ID) string{
		"decimal": snowflake.ID.String, "base32": snowflake.ID.Base32, "base62": snowflake.ID.Base62,
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		ctx := c.Context()
		switch {
		case *count < 1:
			return usage("-n %d, want 1 or more", *count)
		case *state == "" && c.Flag("dsn").Value.String() == "":
			return usage("which worker? Give --dsn, or --worker and --state")
		}
		store := leasestore.Store(nil)
		opts := []lease.Option{
			lease.WithNamespace(*namespace), lease.WithVersion("sqlflake new"), lease.WithStopOnLoss(),
			lease.WithLogger(slog.New(slog.DiscardHandler)),
		}
		if *state != "" {
			file, err := filelease.NewStateFile(*state)
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }() // the lease has given the worker back
			store, opts = file, append(opts, lease.WithWorkers(*worker, *worker))
		} else {
			d, err := open(ctx)
			if err != nil {
				return err
			}
			defer d.close()
			if chosen.Layout, err = d.layoutIn(ctx, *namespace, chosen); err != nil {
				return err
			}
			store = d
		}
		// A field that is left out would be 0, and others may make IDs with that and the same worker.
		if want := len(chosen.Decompose(0).Fields); len(fields) < want {
			return usage("give --field FIELD=N for each field but the time, the worker and the sequence of\n%v", chosen)
		}
		opts = append(opts, lease.WithGenerator(append(fields, snowflake.WithLayout(chosen.Layout))...))
		waiting, cancel := context.WithTimeout(ctx, *wait)
		defer cancel()
		l, err := lease.Open(waiting, store, opts...)
		if err != nil {
			if waiting.Err() != nil && ctx.Err() == nil {
				err = fmt.Errorf("no worker within %v: %w", *wait, err)
			}
			return err
		}
		warnEnding(c, "the namespace "+*namespace, chosen.Layout, now())
		out := newRows(c.OutOrStdout(), "json", time.UTC, chosen)
		print := func(id snowflake.ID) error { return out.add(chosen.Layout, id, "") }
		if !*asJSON {
			print = func(id snowflake.ID) error {
				_, err := out.w.WriteString(forms[*as](id) + "\n")
				return err
			}
		}
		for n := 0; n < *count && err == nil; n++ {
			var id snowflake.ID
			if id, err = l.Generator().NextContext(ctx); err == nil {
				err = print(id)
			}
		}
		return errors.Join(err, out.w.Flush(), l.Close(ctx))
	}
	return c
}

// layoutIn returns the layout of a namespace that is in use, also if it has nothing but a share of the workers.
func (d *database) layoutIn(ctx context.Context, namespace string, chosen *chosenLayout) (snowflake.Layout, error) {
	entries, err := d.List(ctx, "")
	if err != nil {
		return snowflake.Layout{}, err
	}
	switch layout, err := d.Layout(ctx, namespace); {
	case err != nil:
		return layout, err
	case layout != snowflake.Layout{} && chosen.given:
		return chosen.Layout, nil // lease.Open compares it
	case layout != snowflake.Layout{}:
		return layout, nil
	case len(entries) == 0:
		return layout, errors.New("the lease table is empty: no application has leased a worker here")
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Namespace)
	}
	return snowflake.Layout{}, fmt.Errorf("no worker of the namespace %q was ever leased here; there are %q", namespace, slices.Compact(names))
}
