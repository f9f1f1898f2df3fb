package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/segment"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// service is the state of the program. Its handlers run concurrently.
type service struct {
	config
	codes   codes
	db      *gorm.DB
	pool    *sql.DB
	leases  *sqllease.Store // the table of leases, for the operator
	plugin  *gormplugin.Plugin
	numbers *segment.Sequence
}

// open connects to the database, creates the tables that are not there, and leases a worker.
func open(ctx context.Context, c config, opts ...gormplugin.Option) (s *service, err error) {
	s = &service{config: c}
	const connections = 16 // to a server, which allows some hundred to all copies
	// To the file one: SQLite has one writer at a time, and others would poll for their turn.
	dialector, dialect, size := sqlite.Open(c.file+"?_journal_mode=WAL&_busy_timeout=4000&_txlock=immediate"), sqldb.SQLite, 1
	switch {
	case strings.HasPrefix(c.dsn, "postgres"), strings.HasPrefix(c.dsn, "host="):
		dialector, dialect, size = postgres.Open(c.dsn), sqldb.Postgres, connections
	case c.dsn != "":
		dialector, dialect, size = mysql.Open(c.dsn), sqldb.MySQL, connections
	}
	// A Create here is one statement, which needs no transaction around it.
	settings := &gorm.Config{Logger: logger.Discard, SkipDefaultTransaction: true, DisableAutomaticPing: true}
	if s.db, err = gorm.Open(dialector, settings); err != nil {
		return s, fmt.Errorf("open the database: %w", err)
	}
	if s.pool, err = s.db.DB(); err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	s.pool.SetMaxOpenConns(size)
	s.pool.SetMaxIdleConns(size)
	if s.leases, err = sqllease.New(s.pool, dialect); err != nil {
		return s, err
	}
	if s.numbers, s.codes, err = openCodes(ctx, c, s.db, s.pool, dialect); err != nil {
		return s, err
	}
	opts = append([]gormplugin.Option{
		gormplugin.WithNamed("numbers", s.numbers),
		gormplugin.WithLease(lease.WithLogger(slog.Default())),
	}, opts...)
	if s.plugin, err = gormplugin.Open(ctx, s.db, opts...); err != nil {
		return s, err
	}
	err = migrate(s.db.WithContext(ctx))
	if short, ok := s.codes.(shortCodes); ok && err == nil {
		err = short.number(ctx)
	}
	return s, err
}

// migrate creates the tables. It looks again if a copy that starts at the same time was faster.
func migrate(db *gorm.DB) (err error) {
	for range 5 {
		if err = db.AutoMigrate(&Link{}, &Visit{}); err == nil {
			return nil
		}
	}
	return fmt.Errorf("create the tables: %w", err)
}

// close gives the worker back, so that the next copy can have it at once.
func (s *service) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	return errors.Join(s.numbers.Close(), s.plugin.Close(ctx), s.pool.Close())
}

// Link is a row. The plugin fills the key before the row is written; the time of creation is in it.
type Link struct {
	ID snowflake.ID `gorm:"primaryKey;type:int"` // the rowid on SQLite

	// Hash is the SHA-256 of the URL: MySQL has no unique index on text that is as long as a URL.
	Hash []byte `gorm:"size:32;uniqueIndex;not null"`
	URL  string `gorm:"size:4096;not null"`

	// Number counts the links, for short codes. NULL is read as 0: the link was made with codes of another kind.
	Number snowflake.ID `gorm:"snowflake:numbers;uniqueIndex"`

	drawn snowflake.ID // the key that Create has made; ID is another one if the row was there
}

// Visit is a row for each redirect. Its key says when that was. The index has the visits of a link in their order.
type Visit struct {
	ID     snowflake.ID `gorm:"primaryKey;type:int;index:visits_of_link,priority:2"`
	LinkID snowflake.ID `gorm:"not null;index:visits_of_link,priority:1"`
}

// BeforeCreate notes the key before the conflict clause may replace it by that of an existing row.
func (l *Link) BeforeCreate(*gorm.DB) error { //nolint:unparam // GORM calls it
	l.drawn = l.ID
	return nil
}
