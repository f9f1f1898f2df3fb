package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func watchCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "watch",
		Short: "Show what changes among the workers",
		Long: `It prints the table once, and from then on a line for each worker that was
taken, freed or changed hands, until it is interrupted. Extensions are not
shown. A database that does not answer is asked again.`,
		Example: `  sqlflake workers watch --dsn postgres://app@db/shop
  sqlflake workers watch --dsn sqlite:app.db --interval 10s --json`,
		Args: cobra.NoArgs,
	}
	open := databaseFlags(c)
	namespace := c.Flags().String("namespace", "", "only the namespace `NAME` (default all)")
	interval := c.Flags().Duration("interval", 2*time.Second, "how often to look, a `DURATION`")
	asJSON := c.Flags().Bool("json", false, "print a JSON object a line; at first one for each worker")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *interval < 100*time.Millisecond {
			return usage("--interval %v, want 100ms or more", *interval)
		}
		ctx := c.Context()
		d, err := open(ctx)
		if err != nil {
			return err
		}
		defer d.close()
		w := watcher{out: c.OutOrStdout(), now: now, json: *asJSON}
		ticker := time.NewTicker(*interval)
		defer ticker.Stop()
		for failed := ""; ; {
			entries, err := d.List(ctx, *namespace)
			switch {
			case err == nil:
				failed = ""
				if w.seen == nil {
					warnEndings(c, entries, now())
				}
				if err := w.look(entries); err != nil {
					return err
				}
			case w.seen == nil || ctx.Err() != nil:
				return err
			case err.Error() != failed: // once, not each time
				failed = err.Error()
				c.PrintErrf("%s  %v\n", now().UTC().Format(time.RFC3339), err)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-ticker.C:
			}
		}
	}
	return c
}

// watcher prints differences.
type watcher struct {
	out  io.Writer
	now  func() time.Time
	json bool
	seen map[leasestore.Claim]leasestore.Entry // by namespace and worker; nil before the first look
}

// change is a line of JSON.
type change struct {
	Time   time.Time `json:"time"` // when it was seen
	Change string    `json:"change"`
	holding
}

// look prints all workers at first, and from then on what has changed.
func (w *watcher) look(entries []leasestore.Entry) error {
	first := w.seen == nil
	if first {
		w.seen = map[leasestore.Claim]leasestore.Entry{}
		if !w.json {
			if err := writeWorkers(w.out, entries); err != nil {
				return err
			}
		}
	}
	for _, e := range entries {
		at := leasestore.Claim{Namespace: e.Namespace, Worker: e.Worker}
		before, known := w.seen[at]
		w.seen[at] = e
		what := ""
		switch {
		case first && w.json:
			what = "seen"
		case first:
		case e.Held && (!known || !before.Held):
			what = "taken"
		case e.Held && e.Epoch != before.Epoch:
			what = "changed hands"
		case !e.Held && before.Held:
			what = "freed"
		case !e.Held && e.Epoch != before.Epoch:
			what = "taken and freed"
		}
		if what == "" {
			continue
		}
		now, err := w.now().UTC(), error(nil)
		if w.json {
			err = json.NewEncoder(w.out).Encode(change{now, what, holdingOf(e)})
		} else {
			_, err = fmt.Fprintf(w.out, "%s  worker %d of %s %s, epoch %d, %s pid %d\n", instant(now),
				e.Worker, printable(e.Namespace), what, e.Epoch, hostOf(e), e.Holder.PID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
