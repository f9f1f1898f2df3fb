package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// server is PostgreSQL, MariaDB or MySQL, with a schema for this run.
type server struct {
	*example
	db      *gorm.DB
	pool    *sql.DB
	dialect sqldb.Dialect
	version string
	schema  string
}

// onServer creates the schema, runs the tour and removes the schema.
func (e *example) onServer(ctx context.Context, dsn string) (err error) {
	db, err := open(ctx, dialector(dsn))
	if err != nil {
		return err
	}
	s := &server{example: e, db: db, dialect: sqldb.MySQL, schema: "sqlflake_partitions_" + strings.ToLower(rand.Text()[:8])}
	if s.pool, err = db.DB(); err != nil {
		return err
	}
	defer s.pool.Close()
	if err := db.Raw("SELECT version()").Scan(&s.version).Error; err != nil {
		return err
	}
	drop := "DROP SCHEMA " + s.schema
	if db.Name() == "postgres" {
		s.dialect, drop = sqldb.Postgres, drop+" CASCADE"
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(s.version, "PostgreSQL "), " ")
	e.printf("database: %s %s\nschema: %s\n", db.Name(), version, s.schema)
	if err := db.Exec("CREATE SCHEMA " + s.schema).Error; err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.WithContext(context.WithoutCancel(ctx)).Exec(drop).Error) }()
	return s.tour(ctx)
}

// name returns the name of a table in the schema.
func (s *server) name(table string) string { return s.schema + "." + table }

// handle returns a handle for statements on a table. In a program with one schema, db itself is enough.
func (s *server) handle(table string) *gorm.DB {
	return s.db.Table(s.name(table)).Session(&gorm.Session{})
}

// set describes the partitions. It takes the *sql.DB, so it needs no GORM.
func (s *server) set(options ...partition.Option) (*partition.Set, error) {
	return partition.New(s.dialect, s.name("events"), partition.Month, append(options,
		partition.WithStart(s.months[0]), // of the oldest event
		partition.WithLogger(slog.New(slog.DiscardHandler)))...)
}

func (s *server) tour(ctx context.Context) error {
	s.printf("\n1. The table events with a partition per month. What follows the columns in CREATE TABLE:\n")
	set, err := s.set()
	if err != nil {
		return err
	}
	options, err := set.TableOptions()
	if err != nil {
		return err
	}
	s.print(strings.ReplaceAll(options, ", PARTITION", ",\n  PARTITION"))
	if err := s.handle("events").Set("gorm:table_options", options).Migrator().CreateTable(&Event{}); err != nil {
		return err
	}
	if err := s.handle("events_whole").AutoMigrate(&Event{}); err != nil {
		return err
	}
	s.printf("2. The plan of the maintenance:\n")
	if err := s.plan(ctx, set); err != nil {
		return err
	}
	steps, err := set.Maintain(ctx, s.pool)
	if err != nil {
		return err
	}
	s.printf("   Maintain does %d steps. In a service, Set.Run calls it every hour, in all processes.\n", len(steps))

	s.printf("\n3. %d events of each of three months, and the same in events_whole, without partitions.\n", s.rows)
	if err := s.loadBoth(); err != nil {
		return err
	}

	s.printf("\n4. Two months are retained, besides the current one. The plan:\n")
	if set, err = s.set(partition.WithRetain(2)); err != nil {
		return err
	}
	if err := s.plan(ctx, set); err != nil {
		return err
	}
	dropped, err := s.gauge("events").measure("DROP of a partition", func() error {
		steps, err = set.Maintain(ctx, s.pool)
		return err
	})
	if err != nil {
		return err
	}
	for _, step := range steps {
		s.printf("   Maintain has executed: %s\n", strings.Join(step.SQL, "; "))
	}

	s.printf("\n5. Beside it, DELETE in batches of a day:\n")
	deleted, err := s.gauge("events_whole").measure("DELETE by the key", func() error {
		return s.deleteMonth(s.handle("events_whole"))
	})
	if err != nil {
		return err
	}
	s.printf("\n6. Both. The log is that of the server, where others may write meanwhile:\n")
	log := "WAL"
	if s.dialect == sqldb.MySQL {
		log = "redo log"
	}
	return s.compare(log, deleted, dropped)
}

// plan prints the plan.
func (s *server) plan(ctx context.Context, set *partition.Set) error {
	plan, err := set.Plan(ctx, s.pool)
	if err != nil {
		return err
	}
	s.print(plan.String())
	return nil
}

func (s *server) loadBoth() error {
	if err := s.load(s.handle("events")); err != nil {
		return err
	}
	analyze := "ANALYZE "
	if s.dialect == sqldb.MySQL {
		analyze = "ANALYZE TABLE "
	}
	for _, statement := range []string{
		fmt.Sprintf("INSERT INTO %s SELECT * FROM %s", s.name("events_whole"), s.name("events")),
		analyze + s.name("events"), // for the numbers of rows in the plan
	} {
		if err := s.db.Exec(statement).Error; err != nil {
			return err
		}
	}
	return nil
}

// gauge reads what is known of a table and its partitions.
func (s *server) gauge(table string) gauge {
	size := fmt.Sprintf("SELECT pg_total_relation_size('%[1]s') + coalesce(sum(pg_total_relation_size(inhrelid)), 0) "+
		"FROM pg_inherits WHERE inhparent = '%[1]s'::regclass", s.name(table))
	log := "SELECT pg_current_wal_insert_lsn() - '0/0'"
	if s.dialect == sqldb.MySQL {
		files := "innodb_tablespaces"
		log = "SELECT variable_value FROM performance_schema.global_status WHERE variable_name = 'Innodb_redo_log_current_lsn'"
		if strings.Contains(s.version, "MariaDB") {
			files = "innodb_sys_tablespaces"
			log = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_lsn_current'"
		}
		size = fmt.Sprintf("SELECT sum(file_size) FROM information_schema.%s WHERE name = '%[2]s/%[3]s' OR name LIKE '%[2]s/%[3]s#%%'",
			files, s.schema, table)
	}
	read := func(query string) func() (int64, error) {
		return func() (n int64, err error) {
			err = s.pool.QueryRow(query).Scan(&n)
			return n, err
		}
	}
	return gauge{rows: read("SELECT count(*) FROM " + s.name(table)), size: read(size), log: read(log)}
}
