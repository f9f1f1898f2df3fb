package main

import (
	"context"
	"database/sql"

	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func run(ctx context.Context, db *sql.DB) error {
	l, err := sqllease.Open(ctx, db, sqldb.SQLite) // once per process; or sqldb.Postgres, sqldb.MySQL
	if err != nil {
		return err
	}
	defer l.Close(ctx) // gives the worker back

	id, err := l.Generator().Next()
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO users (id, name) VALUES (?, ?)", id, "Ada") // PostgreSQL: $1, $2
	return err
}
