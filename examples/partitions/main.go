// Partitions keeps an event log with one partition per month, and compares DELETE with DROP for the oldest month. On
// SQLite, which has no partitions, it shows what to do there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

const usage = `usage: go run ./examples/partitions [-dsn url] [-rows n]

Loads events of the last three months into a table with one partition per month, shows the plan and the maintenance of
the partitions, and removes the oldest month: by DELETE in a table without partitions, and by DROP of its partition.

  -dsn url  PostgreSQL (postgres://...) or MariaDB or MySQL (user:password@tcp(host:port)/) to use; the tables are in a
            new schema (database), which is removed at the end. By default it is a temporary file of SQLite, which has
            no partitions: what to do there instead
  -rows n   number of events, 3 to 10000000 (default 60000)

For example:

  go run ./examples/partitions -dsn postgres://postgres@localhost/test -rows 1000000
`

const maxRows = 10_000_000

// Event is a row of the log. Its key has the time of the event.
type Event struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Kind string       `gorm:"size:40;not null"`
	Body string       `gorm:"size:200;not null"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "partitions:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("partitions", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() { fmt.Fprint(out, usage) }
	dsn := flags.String("dsn", "", "")
	rows := flags.Int("rows", 60_000, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *rows < 3 || *rows > maxRows:
		return fmt.Errorf("-rows %d out of range [3, %d]", *rows, maxRows)
	}
	e := &example{out: out, rows: *rows / 3, months: lastMonths(time.Now())}
	if *dsn == "" {
		return e.onSQLite(ctx)
	}
	return e.onServer(ctx, *dsn)
}

// example is a run of the program.
type example struct {
	out    io.Writer
	rows   int          // of each month
	months [4]time.Time // the starts of three months, and the end of the last one
}

// lastMonths returns the three months before the current one. In the first hour of a month that is still the month
// before: the maintenance drops nothing earlier, see partition.WithGrace.
func lastMonths(now time.Time) (months [4]time.Time) {
	year, month, _ := now.UTC().Add(-time.Hour).Date()
	for i := range months {
		months[i] = time.Date(year, month-time.Month(3-i), 1, 0, 0, 0, 0, time.UTC)
	}
	return months
}

// open opens a database with the plugin, which fills the keys of new events and knows their layout.
func open(ctx context.Context, dialector gorm.Dialector) (*gorm.DB, error) {
	gen, err := snowflake.New(1) // if several processes write, gormplugin.Open leases the worker numbers
	if err != nil {
		return nil, err
	}
	config := &gorm.Config{Logger: logger.Discard, SkipDefaultTransaction: true}
	db, err := gorm.Open(dialector, config, gormplugin.New(gen))
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return db.WithContext(ctx), nil
}

// dialector returns the driver for a DSN.
func dialector(dsn string) gorm.Dialector {
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		return postgres.Open(dsn)
	}
	return mysql.Open(dsn)
}

// importWorker is the worker number of the import. No generator may have it: it could have issued the same IDs at the
// time of the events.
const importWorker = 1023

// load imports the events. The generator would give them IDs of now. Their partition follows from the key, so each gets
// an ID of the time of its event.
func (e *example) load(db *gorm.DB) error {
	layout := snowflake.Default()
	batch := make([]Event, 0, 1000)
	return db.Transaction(func(tx *gorm.DB) error {
		for i := range 3 {
			from, to := e.months[i], e.months[i+1]
			apart := to.Sub(from) / time.Duration(e.rows) // more than the tick of the layout, so all IDs differ
			for n := range e.rows {
				at := from.Add(time.Duration(n) * apart)
				id, err := layout.Compose(snowflake.Parts{Time: at, Worker: importWorker})
				if err != nil {
					return err
				}
				batch = append(batch, Event{ID: id, Kind: "page viewed", Body: fmt.Sprintf("event %d of %s", n, at.Format(time.RFC3339))})
				if len(batch) == cap(batch) || n == e.rows-1 {
					if err := tx.Create(&batch).Error; err != nil {
						return err
					}
					batch = batch[:0]
				}
			}
		}
		return nil
	})
}

// printf prints a step of the tour.
func (e *example) printf(format string, args ...any) { fmt.Fprintf(e.out, format, args...) }

// print prints text as a block.
func (e *example) print(text string) {
	e.printf("\n   %s\n\n", strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n   "))
}

// deleteMonth deletes the first month in batches of a day, so that no statement locks many rows, or for long. The key is
// the index of the time. CreatedBetween instead of Before: each statement would read again what is left in the index of
// the rows that those before it have deleted.
func (e *example) deleteMonth(db *gorm.DB) error {
	statements := 0
	for day := e.months[0]; day.Before(e.months[1]); day = day.AddDate(0, 0, 1) {
		oneDay := gormplugin.CreatedBetween(day, day.AddDate(0, 0, 1))
		if statements == 0 {
			e.printf("\n   %s\n\n", db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Delete(&Event{}, oneDay) }))
		}
		if err := db.Delete(&Event{}, oneDay).Error; err != nil {
			return err
		}
		statements++
	}
	e.printf("   and so on: %d statements.\n", statements)
	return nil
}
