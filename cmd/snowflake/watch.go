package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const leastInterval = 100 * time.Millisecond

func watchCommand() *command {
	c := newCommand("workers watch", "", "show what changes among the workers")
	c.text = `
It prints the table once, and from then on a line for each worker that was taken,
freed or changed hands, until it is interrupted. Extensions are not shown. A
database that does not answer is asked again.
`
	c.examples = `
snowflake workers watch -dsn postgres://app@db/shop
snowflake workers watch -dsn sqlite:app.db -interval 10s -json
`
	open := c.databaseFlags()
	namespace := c.flags.String("namespace", "", "only the namespace `NAME` (default all)")
	interval := c.flags.Duration("interval", 2*time.Second, "how often to look, a `DURATION`")
	asJSON := c.flags.Bool("json", false, "print a JSON object a line; at first one for each worker")
	c.run = func(ctx context.Context, env environment, _ []string) error {
		if *interval < leastInterval {
			return usage("-interval %v, want %v or more", *interval, leastInterval)
		}
		d, err := open(ctx, env)
		if err != nil {
			return err
		}
		defer d.close()
		entries, err := d.List(ctx, *namespace)
		if err != nil {
			return err
		}
		w := watcher{env: env, json: *asJSON, seen: map[place]lease.Entry{}}
		if !w.json {
			if err := writeWorkers(env.out, entries); err != nil {
				return err
			}
		}
		if err := w.look(entries, true); err != nil {
			return err
		}
		ticker := time.NewTicker(*interval)
		defer ticker.Stop()
		failed := ""
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-ticker.C:
			}
			entries, err := d.List(ctx, *namespace)
			if err != nil {
				if text := err.Error(); ctx.Err() == nil && text != failed { // once, not each time
					failed = text
					env.warn("%s  %v", env.now().UTC().Format(time.RFC3339), err)
				}
				continue
			}
			failed = ""
			if err := w.look(entries, false); err != nil {
				return err
			}
		}
	}
	return c
}

type place struct {
	namespace string
	worker    int64
}

// watcher prints differences.
type watcher struct {
	env  environment
	json bool
	seen map[place]lease.Entry
}

// change is a line of JSON.
type change struct {
	Time   time.Time `json:"time"` // when it was seen
	Change string    `json:"change"`
	holding
}

func (w *watcher) look(entries []lease.Entry, first bool) error {
	for _, e := range entries {
		at := place{e.Namespace, e.Worker}
		before, known := w.seen[at]
		w.seen[at] = e
		what := ""
		switch {
		case first:
			what = "seen"
		case e.Held && (!known || !before.Held):
			what = "taken"
		case e.Held && e.Epoch != before.Epoch:
			what = "changed hands"
		case !e.Held && before.Held:
			what = "freed"
		case !e.Held && e.Epoch != before.Epoch:
			what = "taken and freed"
		}
		if what == "" || first && !w.json {
			continue
		}
		if err := w.print(e, what); err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) print(e lease.Entry, what string) error {
	now := w.env.now().UTC()
	if w.json {
		return json.NewEncoder(w.env.out).Encode(change{now, what, holdingOf(e)})
	}
	_, err := fmt.Fprintf(w.env.out, "%s  worker %d of %s %s, epoch %d, %s pid %d\n", now.Format("2006-01-02T15:04:05.000Z"),
		e.Worker, e.Namespace, what, e.Epoch, cmp.Or(e.Holder.Host, "-"), e.Holder.PID)
	return err
}
