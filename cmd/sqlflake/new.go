package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

type newOptions struct {
	databaseOptions
	layout chosenLayout
	count  int
	worker int64
	state  string
	fields []snowflake.Option
	wait   time.Duration
	as     string
}

func newCommand(now func() time.Time) *cobra.Command {
	o := &newOptions{as: "decimal"}
	c := &cobra.Command{
		Use:   "new",
		Short: "Make IDs",
		Long: `IDs are unique only if no other process has the same worker, so there is no
default worker. Either of:

  --dsn DSN                 leases a worker for the moment, in the lease table
                            of the application, and gives it back
  --worker N --state FOLDER takes a worker that nobody else has. The folder says
                            up to which time IDs were made, and has a lock: so
                            neither a second call nor a clock that was set back
                            repeats an ID. Keep the folder. It is created.

With --dsn the namespace must be in use, or have a share of the workers, so that
a wrong database is no source of IDs, and its layout is used. Layouts with other
fields, such as a datacenter, need --field with the values that the application
has. After an error the IDs printed so far are valid.

` + dsnHelp,
		Example: `  sqlflake new --dsn postgres://app@db/shop
  sqlflake new --dsn postgres://app@db/shop -n 100 | sqlflake decode --json
  sqlflake new --worker 1023 --state ~/.sqlflake --as base32`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), streamsOf(c), now) },
	}
	o.addFlags(c)
	return c
}

func (o *newOptions) addFlags(c *cobra.Command) {
	layoutFlag(c, &o.layout)
	o.addOwnFlags(c)
	c.Flags().IntVarP(&o.count, "count", "n", 1, "`number` of IDs")
	c.Flags().Int64Var(&o.worker, "worker", 0, "`number` of a worker that nobody else has; needs --state")
	c.Flags().StringVar(&o.state, "state", "", "`folder` with the state of --worker")
	c.Flags().Func("field", "`field=number` of the layout, such as datacenter=3, for each but the worker", o.setField)
	c.Flags().DurationVar(&o.wait, "wait", 30*time.Second, "how long to wait for a free worker")
	choiceFlag(c, &o.as, "as", "`form` of the output: decimal, base32 or base62 (default decimal)",
		"decimal", "base32", "base62")

	c.MarkFlagsRequiredTogether("worker", "state")
	c.MarkFlagsMutuallyExclusive("dsn", "worker")
	_ = c.MarkFlagDirname("state") // it exists
}

func (o *newOptions) setField(text string) error {
	name, number, _ := strings.Cut(text, "=")
	value, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return errors.New("want a name, = and a number")
	}
	o.fields = append(o.fields, snowflake.WithField(name, value))
	return nil
}

func (o *newOptions) run(ctx context.Context, s streams, now func() time.Time) error {
	switch {
	case o.count < 1:
		return usage("-n %d, want 1 or more", o.count)
	case o.state == "" && o.dsn == "":
		return usage("which worker? Give --dsn, or --worker and --state")
	}

	store, opts, closeStore, err := o.openStore(ctx)
	if err != nil {
		return err
	}
	defer closeStore()

	// A field that is left out would be 0, and others may make IDs with that and the same worker.
	if want := len(o.layout.Decompose(0).Fields); len(o.fields) < want {
		return usage("give --field FIELD=N for each field but the time, the worker and the sequence of\n%v", o.layout)
	}

	l, err := o.lease(ctx, store, opts)
	if err != nil {
		return err
	}
	warnEnding(s.errs, "the namespace "+o.namespace, o.layout.Layout, now())

	return errors.Join(o.issue(ctx, s.out, l), l.Close(ctx))
}

// openStore opens the folder, or the database, whose layout it takes.
func (o *newOptions) openStore(ctx context.Context) (leasestore.Store, []lease.Option, func(), error) {
	if o.state != "" {
		file, err := filelease.New(o.state)
		if err != nil {
			return nil, nil, nil, err
		}
		worker := lease.WithWorkers(o.worker, o.worker)
		return file, []lease.Option{worker}, func() { _ = file.Close() }, nil // the lease has given the worker back
	}

	d, err := o.open(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if o.layout.Layout, err = d.layoutIn(ctx, o.namespace, &o.layout); err != nil {
		d.close()
		return nil, nil, nil, err
	}
	return d, nil, d.close, nil
}

// lease takes a worker.
func (o *newOptions) lease(ctx context.Context, store leasestore.Store, opts []lease.Option) (*lease.Lease, error) {
	opts = append(opts,
		lease.WithNamespace(o.namespace), lease.WithVersion("sqlflake new"), lease.WithStopOnLoss(),
		lease.WithLogger(slog.New(slog.DiscardHandler)),
		lease.WithGenerator(append(o.fields, snowflake.WithLayout(o.layout.Layout))...))

	waiting, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	l, err := lease.Open(waiting, store, opts...)
	isLate := waiting.Err() != nil && ctx.Err() == nil
	if err != nil && isLate {
		return nil, fmt.Errorf("no worker within %v: %w", o.wait, err)
	}
	return l, err
}

// textForms are the values of --as.
var textForms = map[string]func(snowflake.ID) string{
	"decimal": snowflake.ID.String, "base32": snowflake.ID.Base32, "base62": snowflake.ID.Base62,
}

// issue makes the IDs, and prints each one.
func (o *newOptions) issue(ctx context.Context, w io.Writer, l *lease.Lease) (err error) {
	out, text := bufio.NewWriterSize(w, 64<<10), textForms[o.as]
	defer func() { err = errors.Join(err, out.Flush()) }()

	for range o.count {
		id, err := l.Generator().NextContext(ctx)
		if err != nil {
			return err
		}
		if _, err := out.WriteString(text(id) + "\n"); err != nil {
			return err
		}
	}
	return nil
}
