package testdb

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"github.com/sqlflake/sqlflake/internal/skip"
)

const (
	sqliteName     = "sqlite"
	sqliteVariable = "SNOWFLAKE_TEST_SQLITE"
)

// SQLite returns a new database file in tb.TempDir(), with foreign keys enforced, a write-ahead log and
// synchronous=OFF.
func SQLite(tb testing.TB) Target {
	tb.Helper()
	skip.Off(tb, sqliteVariable)
	// Without "file:", go-sqlite3 cuts the DSN at the first '?' and does not unescape the path.
	dir := tb.TempDir()
	// After an interrupt tb does not remove it.
	removeAtEnd(tb, dir, func(ctx context.Context) error { return removeAll(ctx, dir) })
	path := filepath.Join(dir, "test.db")
	return Target{
		Name:   sqliteName,
		Driver: "sqlite3",
		DSN:    path + "?_foreign_keys=on&_journal_mode=WAL&_synchronous=OFF&_busy_timeout=10000",
	}
}

// removeAll tries until ctx ends: a lease may have been making a connection when its pool was closed, and a connection
// creates files.
func removeAll(ctx context.Context, dir string) error {
	for {
		err := os.RemoveAll(dir)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
