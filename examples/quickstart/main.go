// Quickstart fills a database with the countries and time zones of the tz database, under Snowflake keys that the
// GORM plugin makes, and shows what came out: rows, JSON, a query by time on the primary key alone, and bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

const usage = `usage: go run ./examples/quickstart [-db file | -dsn url] [-worker number]

Imports 249 countries and their time zones into a database and prints some of them. A second run finds them there.

  -db file        SQLite file to use (default quickstart.db, here)
  -dsn url        PostgreSQL database to use instead
  -worker number  worker of the generator, 0 to 1023 (default 1); processes that run at the same time
                  and fill the same tables need different ones

For example, in a local PostgreSQL:

  go run ./examples/quickstart -dsn postgres://postgres@localhost/test
`

// Exit codes.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells count
)

// config is the command line.
type config struct {
	file   string // of SQLite
	dsn    string // of PostgreSQL; "": use the file
	worker int64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with its surroundings as arguments; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parseArgs(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "quickstart: %v\n\n%s", err, usage)
		return exitUsage
	}
	err = quickstart(ctx, cfg, stdout)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "quickstart: interrupted; an import that was under way has been rolled back")
		return exitInterrupted
	case err != nil:
		fmt.Fprintf(stderr, "quickstart: %v\n", err)
		return exitFailure
	}
	return 0
}

func parseArgs(args []string) (config, error) {
	var cfg config
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run prints the error and the usage
	flags.StringVar(&cfg.file, "db", "quickstart.db", "")
	flags.StringVar(&cfg.dsn, "dsn", "", "")
	flags.Int64Var(&cfg.worker, "worker", 1, "")
	if err := flags.Parse(args); err != nil {
		return config{}, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case flags.NArg() > 0:
		return config{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case given["db"] && given["dsn"]:
		return config{}, errors.New("-db and -dsn exclude each other")
	case cfg.file == "":
		return config{}, errors.New("-db is empty")
	case given["dsn"] && cfg.dsn == "":
		return config{}, errors.New("-dsn is empty")
	}
	return cfg, nil
}

// quickstart is the program: open, import, check, report.
func quickstart(ctx context.Context, cfg config, out io.Writer) error {
	data, err := embeddedData()
	if err != nil {
		return err
	}

	// From here to the nested Create in load.go is all that Snowflake keys take.
	generator, err := snowflake.New(cfg.worker)
	if err != nil {
		return err
	}
	db, err := open(ctx, cfg, gormplugin.New(generator))
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()

	added, err := load(db, data)
	if err != nil {
		return err
	}
	r := report{db: db, out: out, layout: generator.Layout()}
	r.printf("database: %s\n\n", cfg.describe(db))
	r.added(added)
	if err := r.check(data); err != nil {
		return err
	}
	for _, print := range []func() error{r.countries, r.json, r.timeRange, r.size} {
		r.printf("\n")
		if err := print(); err != nil {
			return err
		}
	}
	return r.err
}
