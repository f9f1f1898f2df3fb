package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/timetext"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
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
