// Partitions keeps an event log in PostgreSQL, MariaDB or MySQL with one partition per month, and retains two complete
// months. SQLite has no partitions: delete there with gormplugin.CreatedBefore, or attach a file per month.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Event is a row of the log. Its partition follows from the time in its key.
type Event struct {
	ID   snowflake.ID `gorm:"primaryKey"`
	Kind string       `gorm:"size:40;not null"`
}

// TableName names the table. Run creates it, and fails if it exists.
func (Event) TableName() string { return "partitioned_events" }

func main() {
	dsn := flag.String("dsn", "", "`DSN` of PostgreSQL (postgres://...), or of MariaDB or MySQL with parseTime=true")
	flag.Parse()

	dialector := mysql.Open(*dsn)
	if strings.HasPrefix(*dsn, "postgres") {
		dialector = postgres.Open(*dsn)
	} else if *dsn == "" {
		flag.CommandLine.SetOutput(os.Stdout)
		flag.Usage()
		return
	}

	if err := run(context.Background(), dialector, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dialector gorm.Dialector, out io.Writer) (err error) {
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}

	plugin, err := gormplugin.Open(ctx, db) // fills the keys of new events
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugin.Close(context.WithoutCancel(ctx))) }()

	pool, err := db.DB()
	if err != nil {
		return err
	}

	// In the first hour of a month, maintenance still counts from the month before (partition.WithGrace).
	year, month, _ := time.Now().Add(-time.Hour).UTC().Date()
	oldest := time.Date(year, month-3, 1, 0, 0, 0, 0, time.UTC)
	dialect, start := sqldb.Dialect(db.Name()), partition.WithStart(oldest)
	set, err := partition.New(dialect, Event{}.TableName(), partition.Month, start)
	if err != nil {
		return err
	}

	if err := create(ctx, db, pool, set); err != nil {
		return err
	}
	if err := importEvents(db, oldest); err != nil {
		return err
	}
	if err := db.Create(&Event{Kind: "new"}).Error; err != nil {
		return err
	}

	// From now on two complete months are retained. A service has this Set only, and runs it in all processes:
	// go set.Run(ctx, pool, time.Hour)
	set, err = partition.New(dialect, Event{}.TableName(), partition.Month, start, partition.WithRetain(2))
	if err != nil {
		return err
	}

	plan, err := set.Plan(ctx, pool)
	if err != nil {
		return err
	}
	fmt.Fprint(out, plan)

	if _, err := set.Maintain(ctx, pool); err != nil {
		return err
	}

	return show(db, out)
}

// create creates the table and its partitions.
func create(ctx context.Context, db *gorm.DB, pool *sql.DB, set *partition.Set) error {
	options, err := set.TableOptions() // what follows the columns in CREATE TABLE
	if err != nil {
		return err
	}

	if err := db.Set("gorm:table_options", options).Migrator().CreateTable(&Event{}); err != nil {
		return err
	}

	_, err = set.Maintain(ctx, pool)
	return err
}

// importEvents stores an event a month. The key has the time of the event, and a worker that no generator had then.
func importEvents(db *gorm.DB, oldest time.Time) error {
	for i := range 3 {
		id, err := snowflake.Default().Compose(snowflake.Parts{Time: oldest.AddDate(0, i, 3), Worker: 1023})
		if err != nil {
			return err
		}
		if err := db.Create(&Event{ID: id, Kind: "imported"}).Error; err != nil {
			return err
		}
	}
	return nil
}

// show lists the events that are kept.
func show(db *gorm.DB, out io.Writer) error {
	var kept []Event
	err := db.Order("id").Find(&kept).Error
	for _, e := range kept {
		fmt.Fprintf(out, "%s %s\n", snowflake.Default().Time(e.ID).Format("2006-01"), e.Kind)
	}
	return err
}
