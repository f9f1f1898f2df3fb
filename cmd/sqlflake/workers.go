package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/timetext"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

type workersOptions struct {
	databaseOptions
	json bool
}

func workersCommand(now func() time.Time) *cobra.Command {
	o := &workersOptions{}
	c := &cobra.Command{
		Use:   "workers",
		Short: "Show who holds which worker",
		Long: `EXPIRES is when the worker is free unless the lease is extended, in UTC by the
database's clock. A host of more than 24 characters is shortened.

"watch sqlflake workers" shows it again and again.

--json also has the epoch, how many times the worker was acquired; the horizon,
the latest time of IDs that the holder may issue; and the program's version.

` + dsnHelp,
		Example: `  sqlflake workers --dsn postgres://app@db/shop
  SQLFLAKE_DSN='app:secret@tcp(db)/shop' sqlflake workers --json
  sqlflake workers --dsn sqlite:app.db --namespace orders`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), streamsOf(c), now()) },
	}
	o.addFlags(c, "", "only the namespace of this `name` (default all)")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.AddCommand(releaseCommand(), moveCommand())
	return c
}

func (o *workersOptions) run(ctx context.Context, s streams, now time.Time) error {
	d, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer d.close()

	entries, err := d.List(ctx, o.namespace)
	if err != nil {
		return err
	}
	warnEndings(s.errs, entries, now)

	all := make([]holding, len(entries)) // [], not null
	for i, e := range entries {
		all[i] = holdingOf(e)
	}
	return printResult(s.out, o.json, all, func(w io.Writer) { writeWorkers(w, entries) })
}

// writeWorkers prints who holds which worker, and a line for each namespace. Times are in UTC.
func writeWorkers(w io.Writer, entries []leasestore.Entry) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tWORKER\tSTATE\tEXPIRES\tHOST\tPID")
	for _, e := range entries {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%d\n", printable(e.Namespace), e.Worker, stateOf(e),
			timetext.Second(e.Expires), shortened(hostOf(e)), e.Holder.PID)
	}
	_ = table.Flush()

	if len(entries) > 0 {
		fmt.Fprintln(w)
	}
	writeTotals(w, entries)
}

// writeTotals prints a line for each namespace.
func writeTotals(w io.Writer, entries []leasestore.Entry) {
	for len(entries) > 0 {
		name, held, all := entries[0].Namespace, int64(0), int64(0)
		for _, e := range entries {
			if e.Namespace != name {
				break
			}
			all++
			if e.Held {
				held++
			}
		}

		fmt.Fprintf(w, "%s: %d held, %d free", printable(name), held, all-held)
		if layout, err := snowflake.ParseLayout(latest(entries).Layout); err == nil {
			fmt.Fprintf(w, ", %d never taken", layout.MaxWorker()+1-all)
		}
		fmt.Fprintln(w)
		entries = entries[all:]
	}
}

func stateOf(e leasestore.Entry) string {
	if e.Reserved() {
		return "reserved"
	}
	return map[bool]string{true: "held", false: "free"}[e.Held]
}

// shortened cuts the middle of a long text: the names of hosts differ at their beginning or at their end.
func shortened(text string) string {
	const most = 24
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most/2-1]) + "…" + string(runes[len(runes)-most/2:])
}

// holding is a worker in JSON.
type holding struct {
	Namespace string           `json:"namespace"`
	Worker    int64            `json:"worker"`
	Held      bool             `json:"held"`
	Reserved  bool             `json:"reserved"` // for ever, and also held
	Epoch     int64            `json:"epoch"`
	Horizon   *timetext.Moment `json:"horizon"` // null if the layout is unknown
	Expires   timetext.Moment  `json:"expires"`
	Host      string           `json:"host"`
	PID       int              `json:"pid"`
	Version   string           `json:"version"`
	Layout    string           `json:"layout"`
}

func holdingOf(e leasestore.Entry) holding {
	h := holding{
		Namespace: e.Namespace, Worker: e.Worker, Held: e.Held, Reserved: e.Reserved(), Epoch: e.Epoch,
		Expires: timetext.Moment{Time: e.Expires.UTC()},
		Host:    e.Holder.Host, PID: e.Holder.PID, Version: e.Holder.Version, Layout: e.Layout,
	}
	if at, ok := e.HorizonTime(); ok {
		h.Horizon = &timetext.Moment{Time: at}
	}
	return h
}

// databaseOptions say where leases are.
type databaseOptions struct{ dsn, tables, namespace string }

// addFlags adds --dsn, --tables and --namespace.
func (o *databaseOptions) addFlags(c *cobra.Command, namespace, about string) {
	dsnFlag(c, &o.dsn)
	tablesFlag(c, &o.tables)
	c.Flags().StringVar(&o.namespace, "namespace", namespace, about)
}

// addOwnFlags is for a command that needs a namespace.
func (o *databaseOptions) addOwnFlags(c *cobra.Command) {
	o.addFlags(c, lease.DefaultNamespace, "`name` of the namespace")
}

func tablesFlag(c *cobra.Command, prefix *string) {
	c.Flags().StringVar(prefix, "tables", "snowflake_", "`prefix` of the names of the lease tables, or schema.prefix")
}

func (o *databaseOptions) open(ctx context.Context) (*database, error) {
	return openDatabase(ctx, o.dsn, o.tables)
}

// database is where leases are.
type database struct {
	*sqllease.Store
	pool *sql.DB
}

func openDatabase(ctx context.Context, dsn, prefix string) (*database, error) {
	s, err := readDSN(dsn)
	if err != nil {
		return nil, err
	}
	pool, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}

	store, err := sqllease.New(pool, s.dialect, sqllease.WithTables(prefix))
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &database{store, pool}, nil
}

func (d *database) close() { _ = d.pool.Close() }

// List calls the List of the store. It adds the usual reason to an error.
func (d *database) List(ctx context.Context, namespace string) ([]leasestore.Entry, error) {
	entries, err := d.Store.List(ctx, namespace)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w\nIs this the database with the leases? --tables names others", err)
	}
	return entries, err
}

// entry returns the row of a worker.
func (d *database) entry(ctx context.Context, namespace string, worker int64) (leasestore.Entry, error) {
	entries, err := d.List(ctx, namespace)
	if err != nil {
		return leasestore.Entry{}, err
	}

	i := slices.IndexFunc(entries, func(e leasestore.Entry) bool { return e.Worker == worker })
	if i < 0 {
		return leasestore.Entry{}, fmt.Errorf("worker %d of namespace %q was never taken", worker, namespace)
	}
	return entries[i], nil
}

// layoutIn returns the layout of a namespace that is in use. A share of the workers is enough for that.
func (d *database) layoutIn(ctx context.Context, namespace string, chosen *chosenLayout) (snowflake.Layout, error) {
	entries, err := d.List(ctx, "")
	if err != nil {
		return snowflake.Layout{}, err
	}
	layout, err := d.Layout(ctx, namespace)
	if err != nil {
		return snowflake.Layout{}, err
	}

	isUsed := layout != snowflake.Layout{}
	switch {
	case isUsed && chosen.given:
		return chosen.Layout, nil // lease.Open compares it
	case isUsed:
		return layout, nil
	case len(entries) == 0:
		return layout, errors.New("the lease table is empty: no application has leased a worker here")
	}

	var names []string
	for _, e := range entries {
		names = append(names, e.Namespace)
	}
	return layout, fmt.Errorf("no worker of the namespace %q was ever leased here; there are %q",
		namespace, slices.Compact(names))
}

// warnEnding prints a warning if the layout that something issues IDs with ends soon. A lease logs it at the same time.
func warnEnding(w io.Writer, what string, l snowflake.Layout, now time.Time) {
	left, end := l.End().Sub(now), l.End().Format(time.RFC3339)
	switch {
	case left <= 0:
		fmt.Fprintf(w, "warning: the layout of %s has ended at %s\n", what, end)
	case left < lease.EndWarning:
		fmt.Fprintf(w, "warning: the layout of %s ends at %s, in %d days\n", what, end, left/(24*time.Hour))
	}
}

// warnEndings calls warnEnding for each namespace.
func warnEndings(w io.Writer, entries []leasestore.Entry, now time.Time) {
	for i, e := range entries {
		if i > 0 && entries[i-1].Namespace == e.Namespace {
			continue
		}
		if l, err := snowflake.ParseLayout(latest(entries[i:]).Layout); err == nil {
			warnEnding(w, "the namespace "+printable(e.Namespace), l, now)
		}
	}
}

// latest returns the entry of the first namespace that is held, or has been free for the shortest time: after a move
// other entries still have the layout before.
func latest(entries []leasestore.Entry) leasestore.Entry {
	found := entries[0]
	for _, e := range entries[1:] {
		if e.Namespace != found.Namespace || e.Reserved() {
			continue
		}
		if found.Reserved() || e.Expires.After(found.Expires) {
			found = e
		}
	}
	return found
}

func hostOf(e leasestore.Entry) string { return cmp.Or(printable(e.Holder.Host), "-") }
