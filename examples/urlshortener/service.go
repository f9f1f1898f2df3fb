package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Link is a row. The plugin fills the key before the row is written; the time of creation is in it.
type Link struct {
	ID snowflake.ID `gorm:"primaryKey;type:int"` // the rowid on SQLite

	// Hash is the SHA-256 of the URL: MySQL has no unique index on text that is as long as a URL.
	Hash []byte `gorm:"size:32;uniqueIndex;not null"`
	URL  string `gorm:"size:4096;not null"`
}

// Visit is a row for each redirect. Its key says when that was.
type Visit struct {
	ID     snowflake.ID `gorm:"primaryKey;type:int;index:visits_of_link,priority:2"`
	LinkID snowflake.ID `gorm:"not null;index:visits_of_link,priority:1"`
}

// service is the state of the program. Its methods may be called concurrently.
type service struct {
	base   string        // what short links begin with
	limit  time.Duration // of a request's waits: for the database, a connection of the pool, an ID
	db     *gorm.DB
	pool   *sql.DB
	plugin *gormplugin.Plugin
}

// open connects to the database, creates missing tables, and leases a worker.
func open(ctx context.Context, dialector gorm.Dialector, connections int, base string) (s *service, err error) {
	s = &service{base: base, limit: requestTime}
	// A Create here is one statement, which needs no transaction around it.
	config := &gorm.Config{Logger: logger.Discard, SkipDefaultTransaction: true}
	if s.db, err = gorm.Open(dialector, config); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if s.pool, err = s.db.DB(); err != nil {
		return nil, err
	}
	s.pool.SetMaxOpenConns(connections)
	s.pool.SetMaxIdleConns(connections)
	for range 5 { // again if another copy that starts at the same time was faster
		if err = s.db.WithContext(ctx).AutoMigrate(&Link{}, &Visit{}); err == nil {
			break
		}
	}
	if err == nil {
		s.plugin, err = gormplugin.Open(ctx, s.db, gormplugin.WithLease(lease.WithLogger(slog.Default())))
	}
	if err != nil {
		return nil, errors.Join(err, s.pool.Close())
	}
	return s, nil
}

// close gives the worker back, so that the next copy can have it at once.
func (s *service) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	return errors.Join(s.plugin.Close(ctx), s.pool.Close())
}

// create stores a link to the target, or finds the one that exists: the plugin puts the key of that row into the link.
// The UPDATE changes nothing; after DO NOTHING the database would not return the row.
func (s *service) create(ctx context.Context, target string) (*Link, error) {
	hash := sha256.Sum256([]byte(target))
	update := clause.AssignmentColumns([]string{"hash"})
	upsert := clause.OnConflict{Columns: []clause.Column{{Name: "hash"}}, DoUpdates: update}
	for try := 1; ; try++ {
		link := &Link{Hash: hash[:], URL: target}
		err := s.db.WithContext(ctx).Clauses(upsert).Create(link).Error
		var failed *mysql.MySQLError
		if errors.As(err, &failed) && failed.Number == 1213 && try < 10 { // ER_LOCK_DEADLOCK
			continue
		}
		if err == nil && link.ID.IsZero() { // MySQL reads the row in a second query
			err = errors.New("the link was deleted before it could be read")
		}
		return link, err
	}
}

// find returns the link of a code, and gorm.ErrRecordNotFound if there is none.
func (s *service) find(ctx context.Context, code string) (*Link, error) {
	id, err := snowflake.ParseBase62(code)
	if err != nil {
		return nil, gorm.ErrRecordNotFound // without a query
	}
	link := new(Link)
	return link, s.db.WithContext(ctx).Take(link, id).Error
}

// visited counts a visit. Nobody waits long to be counted.
func (s *service) visited(ctx context.Context, l *Link) {
	ctx, cancel := context.WithTimeout(ctx, s.limit/5)
	defer cancel()
	if err := s.db.WithContext(ctx).Create(&Visit{LinkID: l.ID}).Error; err != nil {
		slog.Warn("a visit was not counted", "link", l.ID, "error", err)
	}
}

// visits returns the number of visits since a time. It is a range of the key: there is no column for the time.
func (s *service) visits(ctx context.Context, l *Link, since time.Time) (int64, error) {
	return gorm.G[Visit](s.db).Where("link_id = ?", l.ID).Where(gormplugin.CreatedSince(since)).Count(ctx, "*")
}
