package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// open connects to the database of the command line. GORM stands in for three
// imports of drivers; the store needs no more than the *sql.DB.
func open(ctx context.Context, cfg config) (store *sqllease.Store, closeStore func(), err error) {
	dialector, dialect := sqlite.Open("file:"+cfg.file+"?mode=ro"), sqllease.SQLite
	switch {
	case strings.HasPrefix(cfg.dsn, "postgres://"), strings.HasPrefix(cfg.dsn, "postgresql://"):
		dialector, dialect = postgres.Open(cfg.dsn), sqllease.Postgres
	case cfg.dsn != "":
		dialector, dialect = mysql.Open(cfg.dsn), sqllease.MySQL
	case cfg.file == "":
		dialector = sqlite.Open("file:leases?mode=memory&cache=shared")
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, nil, fmt.Errorf("open the database: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, nil, err
	}
	closeStore = func() { _ = pool.Close() }
	if store, err = sqllease.New(pool, dialect); err == nil && cfg.dsn == "" && cfg.file == "" {
		err = demonstrate(ctx, store)
	}
	if err != nil {
		closeStore()
		return nil, nil, err
	}
	return store, closeStore, nil
}

// demonstrate takes three workers of two namespaces and gives one back.
func demonstrate(ctx context.Context, store *sqllease.Store) error {
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	quiet := lease.WithLogger(slog.New(slog.DiscardHandler))
	var leases []*lease.Lease
	for _, namespace := range []string{"orders", "orders", "users"} {
		l, err := lease.Open(ctx, store, lease.WithNamespace(namespace), lease.WithVersion("v1.0.0"), quiet)
		if err != nil {
			return err
		}
		leases = append(leases, l)
	}
	return leases[1].Close(ctx)
}
