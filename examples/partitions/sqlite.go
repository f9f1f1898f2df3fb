package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// files are databases of SQLite: one with all events, and one per month that is attached to it.
type files struct {
	*example
	db  *gorm.DB
	dir string
}

// onSQLite creates the files in a temporary folder, runs the tour and removes the folder.
func (e *example) onSQLite(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "partitions")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f := &files{example: e, dir: dir}
	db, err := open(ctx, sqlite.Open(f.path("events_whole")+"?_journal_mode=WAL&_synchronous=NORMAL"))
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1) // ATTACH, TEMP VIEW and the setting below hold for one connection
	f.db = db
	if err := f.exec("PRAGMA wal_autocheckpoint = 0"); err != nil { // the log then shows all that was written
		return err
	}
	return f.tour()
}

func (f *files) path(name string) string { return filepath.Join(f.dir, name+".db") }

func (f *files) tour() error {
	_, err := partition.New(sqldb.SQLite, "events", partition.Month)
	f.printf("database: sqlite\n\nSQLite has no partitions, and partition.New returns an error:\n\n   %v\n\n", err)
	f.printf("There are two other ways. With -dsn, this program shows partitions on PostgreSQL, MariaDB and MySQL.\n")
	f.printf("\n1. %d events of each of three months, in one table, and in a file per month.\n", f.rows)
	if err := f.db.AutoMigrate(&Event{}); err != nil {
		return err
	}
	if err := f.load(f.db); err != nil {
		return err
	}
	for i := range 3 {
		if err := f.split(i); err != nil {
			return err
		}
	}
	if err := f.createView(0); err != nil {
		return err
	}

	f.printf("\n2. In one table, DELETE in batches of a day:\n")
	deleted, err := f.gauge("main.events", "events_whole").measure("DELETE by the key", func() error {
		return f.deleteMonth(f.db)
	})
	if err != nil {
		return err
	}
	f.printf("   The file keeps its size. New rows use its free pages, and VACUUM would write all of it again.\n")

	f.printf("\n3. With a file per month:\n")
	dropped, err := f.gauge("all_events", "events_2*").measure("a file per month", func() error { return f.remove(0) })
	if err != nil {
		return err
	}
	f.printf("   At most 10 files can be attached, and with a write-ahead log a transaction is atomic in each file only.\n")
	f.printf("\n4. Both:\n")
	return f.compare("WAL", deleted, dropped)
}

// schema returns the name of a month's file and of the schema that it is attached as.
func (f *files) schema(month int) string { return "events_" + f.months[month].Format("2006_01") }

// split copies the events of a month into a file of their own. A program that has such files from the start inserts
// each event into the file of its key's time.
func (f *files) split(month int) error {
	lo, hi, err := snowflake.Default().Range(f.months[month], f.months[month+1])
	if err != nil {
		return err
	}
	schema := f.schema(month)
	return f.exec(
		fmt.Sprintf("ATTACH '%s' AS %s", strings.ReplaceAll(f.path(schema), "'", "''"), schema),
		fmt.Sprintf("PRAGMA %s.journal_mode = WAL", schema),
		// CHECK keeps the events of other months out.
		fmt.Sprintf("CREATE TABLE %s.events (id integer PRIMARY KEY CHECK (id >= %d AND id < %d), kind text NOT NULL, body text NOT NULL)",
			schema, lo, hi),
		fmt.Sprintf("INSERT INTO %s.events SELECT id, kind, body FROM main.events WHERE id >= %d AND id < %d", schema, lo, hi),
	)
}

// createView creates the view of the files from a month on. SQLite gives conditions of a query to each of them.
func (f *files) createView(first int) error {
	var tables []string
	for month := first; month < 3; month++ {
		tables = append(tables, fmt.Sprintf("SELECT * FROM %s.events", f.schema(month)))
	}
	return f.exec("CREATE TEMP VIEW all_events AS " + strings.Join(tables, " UNION ALL "))
}

// remove removes a month.
func (f *files) remove(month int) error {
	f.printf("   DETACH %s, and remove the file.\n", f.schema(month))
	if err := f.exec("DROP VIEW all_events", "DETACH "+f.schema(month)); err != nil {
		return err
	}
	if err := os.Remove(f.path(f.schema(month))); err != nil {
		return err
	}
	return f.createView(month + 1)
}

// gauge reads what is known of a table and of its files. What is in the log moves to the files first.
func (f *files) gauge(table, files string) gauge {
	size := func(pattern string) func() (int64, error) {
		return func() (n int64, err error) {
			names, err := filepath.Glob(filepath.Join(f.dir, pattern))
			for _, name := range names {
				info, statErr := os.Stat(name)
				if statErr != nil {
					return 0, statErr
				}
				n += info.Size()
			}
			return n, err
		}
	}
	count := func() (n int64, err error) {
		if err := f.exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return 0, err
		}
		err = f.db.Table(table).Count(&n).Error
		return n, err
	}
	return gauge{rows: count, size: size(files + ".db"), log: size("*.db-wal")}
}

func (f *files) exec(statements ...string) error {
	for _, statement := range statements {
		if err := f.db.Exec(statement).Error; err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
