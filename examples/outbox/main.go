// Outbox follows a table by its key while writers insert rows in transactions, some of which commit late. One reader
// reads up to the newest row and misses rows. The other one reads up to the bound of gormplugin.Settled.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "outbox:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("go run ./examples/outbox", flag.ContinueOnError)
	flags.SetOutput(out)
	dsn := flags.String("dsn", "", "PostgreSQL `DSN`, such as postgres://postgres@localhost/test,\n"+
		"or MySQL, such as user:password@tcp(host:port)/database (default a temporary SQLite file)")
	duration := flags.Duration("duration", 2*time.Second, "how long to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}

	t := trial{duration: *duration}
	var dialector gorm.Dialector
	switch {
	case *dsn != "":
		// The transactions are longer than the margin, so the bound comes from the oldest one.
		t.late, t.margin = 2*time.Second, time.Second
		dialector = mysql.Open(*dsn)
		if strings.HasPrefix(*dsn, "postgres") {
			dialector = postgres.Open(*dsn)
		}
	default:
		dir, err := os.MkdirTemp("", "outbox")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		// A key is filled before its row waits for the write lock, so the margin is longer than the busy timeout.
		t.late, t.margin = 20*time.Millisecond, 4*time.Second
		dialector = sqlite.Open(filepath.Join(dir, "outbox.db") + "?_journal_mode=WAL&_synchronous=OFF&_busy_timeout=1000")
	}
	if t.db, err = gorm.Open(dialector, &gorm.Config{Logger: logger.Discard}); err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	if pool, err := t.db.DB(); err == nil {
		defer pool.Close()
	}
	plugin, err := gormplugin.Open(ctx, t.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugin.Close(context.WithoutCancel(ctx))) }()
	if err := t.db.WithContext(ctx).AutoMigrate(&OutboxEvent{}); err != nil {
		return err
	}
	if t.run, err = plugin.Lease().Generator().NextContext(ctx); err != nil {
		return err
	}
	result, err := t.do(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `rows  lost  reader
%4d     -  (written)
%4d  %4d  up to the newest row
%4d  %4d  up to the bound

The bound was up to %v behind: %s
`, result.written, result.newest, result.written-result.newest, result.bounded, result.written-result.bounded,
		result.slowest.Lag.Round(time.Millisecond), cmp.Or(result.slowest.Reason, "the margin"))
	return err
}
