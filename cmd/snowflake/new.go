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

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

func newIDsCommand() *command {
	c := newCommand("new", "", "make IDs", `
IDs are unique only if no other process has the same worker, so there is no default
worker. Either of:

  -dsn DSN                    leases a worker for the moment, in the lease table
                              of the application, and gives it back
  -worker N -state FILE       takes a worker that nobody else has. The file holds
                              up to which time IDs were made, and a lock, so that
                              neither a second call nor a clock that was set back
                              repeats an ID. Keep the file. It is created.

With -dsn the namespace must be in use, so that a wrong database is no source of
IDs, and its layout is used. Layouts with other fields, such as a datacenter, need
-field with the values that the application has. After an error the IDs printed so
far are valid.
`+dsnHelp, `
snowflake new -dsn postgres://app@db/shop
snowflake new -dsn postgres://app@db/shop -namespace orders -n 100 -json
snowflake new -worker 1023 -state ~/.snowflake-worker-1023.json -as base32
`)
	chosen := c.layoutFlag()
	open := c.databaseFlags()
	count := c.flags.Int("n", 1, "how many IDs, `N`")
	worker := c.flags.Int64("worker", -1, "the worker `N` that nobody else has; needs -state")
	state := c.flags.String("state", "", "the `FILE` with the state of -worker")
	namespace := c.flags.String("namespace", lease.DefaultNamespace, "the `NAME` of the namespace")
	var fields []snowflake.Option
	c.flags.Func("field", "a `FIELD=N` of the layout, such as datacenter=3; each but the worker is needed", func(text string) error {
		name, number, _ := strings.Cut(text, "=")
		value, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return errors.New("want a name, = and a number")
		}
		fields = append(fields, snowflake.WithField(name, value))
		return nil
	})
	wait := c.flags.Duration("wait", 30*time.Second, "how long to wait for a free worker, a `DURATION`")
	as := c.choice("as", "decimal", "the `FORM` of the output: decimal, base32 or base62", "decimal", "base32", "base62")
	asJSON := c.flags.Bool("json", false, "print a JSON object a line, with IDs as strings and their fields")
	forms := map[string]func(snowflake.ID) string{
		"decimal": snowflake.ID.String, "base32": snowflake.ID.Base32, "base62": snowflake.ID.Base62,
	}
	c.run = func(ctx context.Context, env environment, _ []string) error {
		dsn := c.flags.Lookup("dsn").Value.String()
		switch {
		case *count < 1:
			return usage("-n %d, want 1 or more", *count)
		case (*worker >= 0 || *state != "") && dsn != "":
			return usage("-dsn leases a worker; -worker and -state exclude it")
		case (*worker >= 0) != (*state != ""):
			return usage("-worker and -state need each other")
		case *worker < 0 && dsn == "" && env.getenv("SNOWFLAKE_DSN") == "":
			return usage("which worker? Give -dsn, or -worker and -state")
		}
		layout, store := chosen.Layout, lease.Store(nil)
		opts := []lease.Option{
			lease.WithNamespace(*namespace), lease.WithVersion("snowflake new"), lease.WithStopOnLoss(),
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
			d, err := open(ctx, env)
			if err != nil {
				return err
			}
			defer d.close()
			if layout, err = d.layoutIn(ctx, *namespace, chosen); err != nil {
				return err
			}
			store = d
		}
		// A field that is left out would be 0, and others may make IDs with that and the same worker.
		if want := len(layout.Decompose(0).Fields); len(fields) < want {
			return usage("give -field FIELD=N for each field but the time, the worker and the sequence of\n%v", layout)
		}
		opts = append(opts, lease.WithGenerator(append(fields, snowflake.WithLayout(layout))...))
		waiting, cancel := context.WithTimeout(ctx, *wait)
		defer cancel()
		l, err := lease.Open(waiting, store, opts...)
		if err != nil {
			if waiting.Err() != nil && ctx.Err() == nil {
				err = fmt.Errorf("no worker within %v: %w", *wait, err)
			}
			return err
		}
		out := newRows(env.out, "json", layout, time.UTC)
		print := func(id snowflake.ID) error { return out.add(id, "") }
		if !*asJSON {
			text := forms[*as]
			print = func(id snowflake.ID) error {
				_, err := out.w.WriteString(text(id) + "\n")
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

// layoutIn returns the layout of a namespace that is in use.
func (d *database) layoutIn(ctx context.Context, namespace string, chosen *chosenLayout) (snowflake.Layout, error) {
	entries, err := d.List(ctx, "")
	if err != nil {
		return snowflake.Layout{}, err
	}
	var names []string
	for _, e := range entries {
		if e.Namespace == namespace {
			if chosen.given {
				return chosen.Layout, nil // lease.Open compares it
			}
			return snowflake.ParseLayout(e.Layout)
		}
		names = append(names, e.Namespace)
	}
	if names = slices.Compact(names); len(names) == 0 {
		return snowflake.Layout{}, errors.New("the lease table is empty: no application has leased a worker here")
	}
	return snowflake.Layout{}, fmt.Errorf("no worker of the namespace %q was ever leased here; there are %q", namespace, names)
}
