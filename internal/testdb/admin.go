package testdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"strings"
	"testing"
	"time"
)

// adminTimeout bounds the setup and the cleanup of one test. A busy machine takes seconds.
const adminTimeout = 3 * time.Minute

// create runs the statement that makes a schema or database. An error fails the test.
func create(tb testing.TB, name, driver, dsn, statement string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), adminTimeout)
	defer cancel()
	if err := admin(ctx, driver, dsn, execAll(statement)); err != nil {
		tb.Fatalf("testdb: %s: %v", name, err)
	}
}

// admin runs work on its own connection to the server.
func admin(ctx context.Context, driver, dsn string, work func(ctx context.Context, db *sql.DB) error) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	return work(ctx, db)
}

// execAll returns work for admin that executes the statements in order.
func execAll(statements ...string) func(context.Context, *sql.DB) error {
	return func(ctx context.Context, db *sql.DB) error {
		for _, statement := range statements {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
}

// newName returns a random name that is a valid identifier in every database here.
func newName() string {
	return "sqlflake_test_" + strings.ToLower(rand.Text()[:20])
}
