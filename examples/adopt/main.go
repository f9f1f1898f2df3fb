// Adopt moves a shop from auto-increment keys (gorm.Model) to Snowflake keys without changing a row. It builds the old
// shop, replaces the models, removes the counters and creates more rows, and it checks each step.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

const usage = `usage: go run ./examples/adopt [-dsn url]

Moves a shop of 1,000 users and 5,000 orders from auto-increment keys to Snowflake keys, and reports each step.

  -dsn url  PostgreSQL (postgres://...) or MySQL (user:password@tcp(host:port)/database) to use (default a
            temporary SQLite file); the tables adopt_users and adopt_orders are created and removed

For example:

  go run ./examples/adopt -dsn postgres://postgres@localhost/test
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with injectable arguments and output; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var dsn string
	flags := flag.NewFlagSet("adopt", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error and the usage are printed below
	flags.StringVar(&dsn, "dsn", "", "")
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "adopt: %v\n\n%s", err, usage)
		return 2
	}
	if err := migrate(ctx, dsn, stdout); err != nil {
		fmt.Fprintf(stderr, "adopt: %v\n", err)
		return 1
	}
	return 0
}

// migrate is the program.
func migrate(ctx context.Context, dsn string, out io.Writer) (err error) {
	file := ""
	if dsn == "" {
		dir, tempErr := os.MkdirTemp("", "adopt-")
		if tempErr != nil {
			return tempErr
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		file = filepath.Join(dir, "shop.db")
	}

	old, err := open(ctx, dsn, file)
	if err != nil {
		return err
	}
	defer closeHandle(old)
	if err := ownTables(old); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeTables(old)) }()
	m := &migration{out: out, old: old}
	m.printf("database: %s\n", old.Name())
	if err := m.shopAsItIs(); err != nil {
		return err
	}

	// The new version of the program. Each of its processes needs its own worker number; gormplugin.Open would lease
	// one from the database. WithMinID takes the greatest old key plus 1.
	gen, err := snowflake.New(1)
	if err != nil {
		return err
	}
	m.layout = gen.Layout()
	if m.db, err = open(ctx, dsn, file, gormplugin.New(gen, gormplugin.WithMinID(users*ordersPerUser+1))); err != nil {
		return err
	}
	defer closeHandle(m.db)
	for _, step := range []func() error{m.newModels, m.oldBesideNew, m.dropCounters, m.goOn, m.withoutKey} {
		if err := step(); err != nil {
			return err
		}
	}
	return m.err
}

func closeHandle(db *gorm.DB) {
	if pool, err := db.DB(); err == nil {
		_ = pool.Close()
	}
}
