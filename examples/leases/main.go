// Leases prints who holds which worker of which namespace, from the table of leases in a database.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "leases:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("go run ./examples/leases", flag.ContinueOnError)
	flags.SetOutput(out)
	file := flags.String("db", "", "SQLite `file`; without -db and -dsn, an example in memory")
	dsn := flags.String("dsn", "", "PostgreSQL `DSN`, such as postgres://postgres@localhost/test,\n"+
		"or MySQL, such as user:password@tcp(host:port)/database")
	namespace := flags.String("namespace", "", "show only this one (default all)")
	asJSON := flags.Bool("json", false, "print JSON instead of a table")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *file != "" && *dsn != "" {
		return errors.New("-db and -dsn exclude each other")
	}

	// GORM serves here for its three drivers only; the store needs just the *sql.DB.
	dialector, dialect := sqlite.Open("file:"+*file+"?mode=ro"), sqllease.SQLite
	switch {
	case strings.HasPrefix(*dsn, "postgres"):
		dialector, dialect = postgres.Open(*dsn), sqllease.Postgres
	case *dsn != "":
		dialector, dialect = mysql.Open(*dsn), sqllease.MySQL
	case *file == "":
		dialector = sqlite.Open("file:leases?mode=memory&cache=shared")
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()
	store, err := sqllease.New(pool, dialect)
	if err != nil {
		return err
	}
	if *dsn == "" && *file == "" {
		if err := demonstrate(ctx, store); err != nil {
			return err
		}
	}
	entries, err := store.List(ctx, *namespace)
	if err != nil {
		return err
	}
	if *asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(entries)
	}
	return lease.WriteTable(out, entries)
}

// demonstrate leases three workers of two namespaces and gives one back.
func demonstrate(ctx context.Context, store *sqllease.Store) error {
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	quiet := lease.WithLogger(slog.New(slog.DiscardHandler))
	var leases []*lease.Lease
	for _, namespace := range []string{"orders", "orders", "users"} {
		l, err := lease.Open(ctx, store, lease.WithNamespace(namespace), lease.WithVersion("v1.0.0"), quiet)
		if err != nil {
			return err
		}
		leases = append(leases, l)
	}
	return leases[1].Close(ctx)
}
