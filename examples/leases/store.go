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
)

// open connects to the database. It uses GORM only for its three drivers; the store needs just the *sql.DB.
func open(ctx context.Context, cfg config) (store *lease.SQL, closeStore func(), err error) {
	dialector, dialect := sqlite.Open("file:"+cfg.file+"?mode=ro"), lease.SQLite
	switch {
	case strings.HasPrefix(cfg.dsn, "postgres://"), strings.HasPrefix(cfg.dsn, "postgresql://"):
		dialector, dialect = postgres.Open(cfg.dsn), lease.Postgres
	case cfg.dsn != "":
		dialector, dialect = mysql.Open(cfg.dsn), lease.MySQL
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
	if store, err = lease.NewSQL(pool, dialect); err == nil && cfg.dsn == "" && cfg.file == "" {
		err = demonstrate(ctx, store)
	}
	if err != nil {
		closeStore()
		return nil, nil, err
	}
	return store, closeStore, nil
}

// demonstrate leases three workers of two namespaces and gives one back.
func demonstrate(ctx context.Context, store *lease.SQL) error {
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
