// Quickstart stores the countries of the world and their time zones with GORM. Nothing in it makes a key:
// gormplugin.Open leases a worker in the database, and each Create then fills the keys, also those of the zones and the
// join table.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Country is a country or territory of ISO 3166.
type Country struct {
	gormplugin.Model         // the key, and the times of creation and update
	Code             string  `gorm:"size:2;uniqueIndex;not null" json:"code"`
	Name             string  `gorm:"not null" json:"name"`
	Zones            []*Zone `gorm:"many2many:country_zones" json:"zones"`
}

// Zone is a time zone of the tz database. It may be used by several countries.
type Zone struct {
	gormplugin.Model
	Name    string `gorm:"size:64;uniqueIndex;not null" json:"name"`
	Comment string `json:"comment,omitempty"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("go run ./examples/quickstart", flag.ContinueOnError)
	flags.SetOutput(out)
	file := flags.String("db", "quickstart.db", "SQLite `file`, created if it does not exist")
	dsn := flags.String("dsn", "", "PostgreSQL `URL` to use instead, such as postgres://postgres@localhost/test")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	flags.Visit(func(f *flag.Flag) { // such as -dsn "$URL" where URL is not set
		if f.Value.String() == "" {
			err = fmt.Errorf("-%s is empty", f.Name)
		}
	})
	if err != nil {
		return err
	}
	// Immediate: two transactions that read before they write would fail with "database is locked".
	dialector := sqlite.Open(*file + "?_foreign_keys=on&_busy_timeout=10000&_txlock=immediate")
	if *dsn != "" {
		dialector = postgres.Open(*dsn)
	}
	config := &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true} // the ping has no context
	db, err := gorm.Open(dialector, config)
	if err != nil {
		return err
	}
	if pool, err := db.DB(); err == nil {
		defer pool.Close()
	}
	plugin, err := gormplugin.Open(ctx, db) // leases a worker in this database
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugin.Close(context.WithoutCancel(ctx))) }() // gives it back

	db = db.WithContext(ctx)
	if err := load(db, out); err != nil {
		return err
	}
	return show(db, out)
}

// load creates the tables and all rows in one transaction, unless they exist.
func load(db *gorm.DB, out io.Writer) error {
	return db.Transaction(func(tx *gorm.DB) error {
		if tx.Name() == "postgres" { // two transactions at a time must not create the same table
			if err := tx.Exec("SELECT pg_advisory_xact_lock(7205759403792794)").Error; err != nil {
				return err
			}
		}
		if err := tx.AutoMigrate(&Country{}, &Zone{}); err != nil {
			return err
		}
		var stored int64
		if err := tx.Model(&Country{}).Count(&stored).Error; err != nil {
			return err
		}
		if stored > 0 {
			fmt.Fprintln(out, "The rows are there from an earlier run.")
			return nil
		}
		fmt.Fprintln(out, "Storing the countries, their zones and the join table with one Create.")
		return tx.Create(readFiles()).Error
	})
}

// show reads back: how many rows there are, the first by key, one as JSON, and those of a day by the time in their
// keys.
func show(db *gorm.DB, out io.Writer) error {
	for _, table := range []string{"countries", "zones", "country_zones"} {
		var n int64
		if err := db.Table(table).Count(&n).Error; err != nil {
			return err
		}
		fmt.Fprintf(out, "%5d rows in %s\n", n, table)
	}

	var first []Country
	if err := db.Preload("Zones").Order("id").Limit(5).Find(&first).Error; err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe first keys, and what is in them:\n\n")
	for _, c := range first {
		parts := snowflake.Default().Decompose(c.ID)
		fmt.Fprintf(out, "%d  time %s, worker %d, sequence %d  %s: %d zones\n",
			c.ID, parts.Time.Format("15:04:05.000"), parts.Worker, parts.Sequence, c.Name, len(c.Zones))
	}

	var germany Country
	if err := db.Preload("Zones").Take(&germany, "code = ?", "DE").Error; err != nil {
		return err
	}
	text, err := json.MarshalIndent(germany, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nIn JSON keys are strings, because JavaScript would round such numbers:\n\n%s\n", text)

	day := snowflake.Default().Time(first[0].ID).Truncate(24 * time.Hour)
	ofDay := func(db *gorm.DB) *gorm.DB {
		return db.Where(gormplugin.CreatedBetween(day, day.AddDate(0, 0, 1))).Find(&[]Country{})
	}
	found := ofDay(db)
	fmt.Fprintf(out, "\nThe rows of a day are a range of keys:\n\n%s\n%d rows\n", db.ToSQL(ofDay), found.RowsAffected)
	return found.Error
}
