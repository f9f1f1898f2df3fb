// Leases prints who holds which worker of which namespace, from the table of leases in a database.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const usage = `usage: go run ./examples/leases [-dsn url | -db file] [-namespace name] [-json]

Prints the leases of snowflake workers: who holds which, how many owners it has had, up to which time it may issue IDs,
and when the lease ends unless it is extended. Without a database it fills one in memory to show how that looks.

  -dsn url         PostgreSQL (postgres://...) or MySQL (user:password@tcp(host:port)/database)
  -db file         SQLite file
  -namespace name  only this one (default all)
  -json            JSON instead of a table

For example:

  go run ./examples/leases -dsn postgres://postgres@localhost/test -json
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type config struct {
	dsn, file, namespace string
	json                 bool
}

// run is main with injectable arguments and output; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parseArgs(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "leases: %v\n\n%s", err, usage)
		return 2
	}
	if err := show(ctx, cfg, stdout); err != nil {
		fmt.Fprintf(stderr, "leases: %v\n", err)
		return 1
	}
	return 0
}

func parseArgs(args []string) (config, error) {
	var cfg config
	flags := flag.NewFlagSet("leases", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run prints the error and the usage
	flags.StringVar(&cfg.dsn, "dsn", "", "")
	flags.StringVar(&cfg.file, "db", "", "")
	flags.StringVar(&cfg.namespace, "namespace", "", "")
	flags.BoolVar(&cfg.json, "json", false, "")
	if err := flags.Parse(args); err != nil {
		return config{}, err
	}
	switch {
	case flags.NArg() > 0:
		return config{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case cfg.dsn != "" && cfg.file != "":
		return config{}, errors.New("-db and -dsn exclude each other")
	}
	return cfg, nil
}

func show(ctx context.Context, cfg config, out io.Writer) error {
	store, closeStore, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer closeStore()
	entries, err := store.List(ctx, cfg.namespace)
	if err != nil {
		return err
	}
	if cfg.json {
		return writeJSON(out, entries)
	}
	return lease.WriteTable(out, entries)
}
