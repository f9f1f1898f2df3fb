package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func workersCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "workers",
		Short: "Show who holds which worker",
		Long: `HORIZON: latest time of IDs that the holder may issue. EXPIRES: when the worker
is free unless the lease is extended. EPOCH: number of times the worker was
acquired. Times are in UTC, by the database's clock.

` + dsnHelp,
		Example: `  sqlflake workers --dsn postgres://app@db/shop
  SQLFLAKE_DSN='app:secret@tcp(db)/shop' sqlflake workers --json
  sqlflake workers --dsn sqlite:app.db --namespace orders`,
		Args: cobra.NoArgs,
	}
	open := databaseFlags(c)
	namespace := c.Flags().String("namespace", "", "only the namespace `NAME` (default all)")
	asJSON := c.Flags().Bool("json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		d, err := open(c.Context())
		if err != nil {
			return err
		}
		defer d.close()
		entries, err := d.List(c.Context(), *namespace)
		if err != nil {
			return err
		}
		warnEndings(c, entries, now())
		if *asJSON {
			all := make([]holding, len(entries)) // [], not null
			for i, e := range entries {
				all[i] = holdingOf(e)
			}
			return writeJSON(c.OutOrStdout(), all)
		}
		return writeWorkers(c.OutOrStdout(), entries)
	}
	return c
}

// writeWorkers prints who holds which worker, and a line for each namespace. Times are in UTC.
func writeWorkers(w io.Writer, entries []leasestore.Entry) error {
	var b strings.Builder // has no errors
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tWORKER\tSTATE\tEPOCH\tHORIZON\tEXPIRES\tHOST\tPID\tVERSION")
	var totals strings.Builder
	var held, free int64
	for i, e := range entries {
		state := "free"
		if e.Held {
			state = "held"
			held++
			if e.Reserved() {
				state = "reserved"
			}
		} else {
			free++
		}
		horizon := "-"
		if at, ok := e.HorizonTime(); e.Horizon > 0 && ok {
			horizon = instant(at)
		} else if e.Horizon > 0 {
			horizon = fmt.Sprintf("tick %d", e.Horizon)
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%d\t%s\t%s\t%s\t%d\t%s\n", printable(e.Namespace), e.Worker, state, e.Epoch,
			horizon, instant(e.Expires), hostOf(e), e.Holder.PID, cmp.Or(printable(e.Holder.Version), "-"))
		if i+1 < len(entries) && entries[i+1].Namespace == e.Namespace {
			continue
		}
		fmt.Fprintf(&totals, "\n%s: %d held, %d free", printable(e.Namespace), held, free)
		if layout, err := snowflake.ParseLayout(latest(entries[i+1-int(held+free):]).Layout); err == nil {
			fmt.Fprintf(&totals, ", %d never taken", layout.MaxWorker()+1-held-free)
		}
		held, free = 0, 0
	}
	_ = table.Flush()
	if len(entries) > 0 {
		totals.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String()+totals.String())
	return err
}

// printable quotes a text that would do something else to a terminal than to be shown: who may write the table could end
// a line, or send escape sequences.
func printable(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

func hostOf(e leasestore.Entry) string { return cmp.Or(printable(e.Holder.Host), "-") }

func instant(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// holding is a worker in JSON.
type holding struct {
	Namespace string  `json:"namespace"`
	Worker    int64   `json:"worker"`
	Held      bool    `json:"held"`
	Reserved  bool    `json:"reserved"` // for ever, and also held
	Epoch     int64   `json:"epoch"`
	Horizon   *moment `json:"horizon"` // null if the layout is unknown
	Expires   moment  `json:"expires"`
	Host      string  `json:"host"`
	PID       int     `json:"pid"`
	Version   string  `json:"version"`
	Layout    string  `json:"layout"`
}

func holdingOf(e leasestore.Entry) holding {
	h := holding{
		Namespace: e.Namespace, Worker: e.Worker, Held: e.Held, Reserved: e.Reserved(), Epoch: e.Epoch, Expires: moment{e.Expires.UTC()},
		Host: e.Holder.Host, PID: e.Holder.PID, Version: e.Holder.Version, Layout: e.Layout,
	}
	if at, ok := e.HorizonTime(); ok {
		h.Horizon = &moment{at}
	}
	return h
}
