package testdb

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

const sqliteName = "sqlite"

// SQLite returns a new database file in tb.TempDir(). Foreign keys are enforced, the journal is a write-ahead log, and
// nothing is synced to the disk: a test's file need not survive a power cut.
func SQLite(tb testing.TB) Target {
	tb.Helper()
	// Not a "file:" URI: go-sqlite3 then splits at the first '?', and the path needs no escaping on any system.
	dir := tb.TempDir()
	removeAtEnd(tb, dir, func(context.Context) error { return os.RemoveAll(dir) }) // tb does it only at a test's end
	path := filepath.Join(dir, "test.db")
	return Target{
		Name:   sqliteName,
		Driver: "sqlite3",
		DSN:    path + "?_foreign_keys=on&_journal_mode=WAL&_synchronous=OFF&_busy_timeout=10000",
	}
}
