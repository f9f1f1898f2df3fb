package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// open connects to the database of the DSN, or to the SQLite file if there is none.
func open(ctx context.Context, dsn, file string, opts ...gorm.Option) (*gorm.DB, error) {
	dialector := mysql.Open(dsn)
	switch {
	case dsn == "":
		dialector = sqlite.Open(file + "?_foreign_keys=on&_busy_timeout=10000")
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		dialector = postgres.Open(dsn)
	case !strings.Contains(dsn, "parseTime"): // GORM needs it to read times
		separator := "?"
		if strings.Contains(dsn, "?") {
			separator = "&"
		}
		dialector = mysql.Open(dsn + separator + "parseTime=true")
	}
	config := &gorm.Config{Logger: logger.Discard, TranslateError: true}
	db, err := gorm.Open(dialector, append([]gorm.Option{config}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return db.WithContext(ctx), nil
}

// ownTables returns an error if the tables of this example exist, because they may not be from this example.
func ownTables(db *gorm.DB) error {
	for _, model := range []any{&oldUser{}, &oldOrder{}} {
		if db.Migrator().HasTable(model) {
			return errors.New("the tables adopt_users and adopt_orders exist already; drop them, or use another database")
		}
	}
	return nil
}

func removeTables(db *gorm.DB) error {
	return db.WithContext(context.Background()).Migrator().DropTable(&oldOrder{}, &oldUser{})
}

// changes counts the statements that change the schema.
type changes struct {
	logger.Interface
	n atomic.Int64
}

func (c *changes) Trace(_ context.Context, _ time.Time, statement func() (string, int64), _ error) {
	text, _ := statement()
	for _, word := range []string{"ALTER", "CREATE", "DROP"} {
		if strings.HasPrefix(strings.ToUpper(text), word) {
			c.n.Add(1)
		}
	}
}

// countChanges returns how many statements of work change the schema.
func countChanges(db *gorm.DB, work func(db *gorm.DB) error) (int64, error) {
	count := &changes{Interface: logger.Discard}
	err := work(db.Session(&gorm.Session{Logger: count}))
	return count.n.Load(), err
}
