package main

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
)

// open connects to the database, makes the tables that are missing, and returns a handle that ctx interrupts.
func open(ctx context.Context, cfg config, keys *gormplugin.Plugin) (*gorm.DB, error) {
	dialector := postgres.Open(cfg.dsn)
	if cfg.dsn == "" {
		if strings.Contains(cfg.file, "?") {
			return nil, fmt.Errorf("-db %s: the driver takes what follows a '?' for options", cfg.file)
		}
		// A transaction that reads before it writes cannot wait for another such one, so all start as writers.
		dialector = sqlite.Open(cfg.file + "?_foreign_keys=on&_busy_timeout=10000&_txlock=immediate")
	}
	db, err := gorm.Open(dialector, &gorm.Config{
		Logger:               logger.Discard, // errors are returned, and printed once
		DisableAutomaticPing: true,           // it could not be interrupted; the migration connects as well
	}, keys)
	if err == nil {
		db = db.WithContext(ctx)
		err = alone(db, func(tx *gorm.DB) error { return tx.AutoMigrate(&Country{}, &Zone{}) })
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", cfg.target(), err)
	}
	return db, nil
}

// aloneLock is the number of an advisory lock of PostgreSQL. It means nothing to anybody else.
const aloneLock = 7_205_759_403_792_794

// alone runs work in a transaction and lets no other process with the same database do so at the same time: CREATE TABLE
// IF NOT EXISTS fails on PostgreSQL if two of them meet, and so does an import of rows that were not there a moment ago.
func alone(db *gorm.DB, work func(tx *gorm.DB) error) error {
	return db.Transaction(func(tx *gorm.DB) error {
		if tx.Name() == "postgres" { // on SQLite BEGIN IMMEDIATE is enough
			if err := tx.Exec("SELECT pg_advisory_xact_lock(?)", aloneLock).Error; err != nil {
				return err
			}
		}
		return work(tx)
	})
}

// target names the database without its password.
func (c config) target() string {
	if c.dsn == "" {
		return c.file
	}
	return "the PostgreSQL of -dsn"
}

// describe says where the rows are and how to look at them.
func (c config) describe(db *gorm.DB) string {
	if c.dsn == "" {
		return fmt.Sprintf("SQLite, in the file %s (look into it with: sqlite3 %s)", c.file, c.file)
	}
	return "PostgreSQL, tables countries, zones and country_zones of database " + db.Migrator().CurrentDatabase()
}
