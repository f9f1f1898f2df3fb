package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// sqlite is a database file in its own folder, with a write-ahead log.
type sqlite struct {
	base
	dir string
}

func openSQLite(ctx context.Context, parent string) (Engine, error) {
	dir, err := os.MkdirTemp(parent, "sqlflake-storage-")
	if err != nil {
		return nil, fmt.Errorf("a folder for SQLite: %w", err)
	}
	e := &sqlite{base: base{name: "sqlite", words: sqliteWords}, dir: dir}
	// As applications set it: with the write-ahead log a commit does not wait for the disk, but checkpoints do. OFF would
	// hide what it costs to write many pages.
	query := url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"NORMAL"}, "_busy_timeout": {"60000"},
		"_foreign_keys": {"1"}, "_txlock": {"immediate"},
	}
	e.db, err = sql.Open("sqlite3", "file:"+inURI.Replace(filepath.ToSlash(e.path()))+"?"+query.Encode())
	if err == nil {
		err = e.db.PingContext(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open SQLite in %s: %w", dir, err), e.Close())
	}
	return e, nil
}

// inURI escapes the special characters of a file URI: https://www.sqlite.org/uri.html.
var inURI = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")

func (e *sqlite) path() string { return filepath.Join(e.dir, "storage.db") }

func (e *sqlite) Dialect() string          { return "sqlite" }
func (e *sqlite) Placeholder(n int) string { return fmt.Sprintf("?%d", n) }
func (e *sqlite) Value(v any) any          { return asBytes(v) }

func (e *sqlite) Settings(ctx context.Context) ([]measure.Setting, error) {
	return e.settings(ctx, "SQLite ", "SELECT sqlite_version()", "PRAGMA ", "journal_mode", "synchronous", "page_size",
		"cache_size")
}

var sqliteWords = words{
	quote: doubleQuoted,
	key: func(t Table) string {
		switch {
		case t.Kind.Strict:
			return "INTEGER PRIMARY KEY AUTOINCREMENT"
		case t.Kind.Store == key.Integer && !t.Kind.Beside:
			return "INTEGER PRIMARY KEY" // the rowid: https://www.sqlite.org/lang_createtable.html#rowid
		default:
			return sqliteKey(t) + " PRIMARY KEY NOT NULL"
		}
	},
	columns: map[Type]string{Bigint: "INTEGER", Name: "TEXT"},
	like:    sqliteKey,
}

func sqliteKey(t Table) string {
	switch {
	case t.Kind.Store == key.UUID:
		return "BLOB"
	case t.Kind.Store == key.Text:
		return "TEXT"
	case t.Kind.Beside:
		return "BIGINT"
	default:
		return "INTEGER"
	}
}

// Drop also frees the pages, so that the next table starts in a file of the same size.
func (e *sqlite) Drop(ctx context.Context, names ...string) error {
	if err := e.base.Drop(ctx, names...); err != nil {
		return err
	}
	if _, err := e.db.ExecContext(ctx, "VACUUM"); err != nil {
		return err
	}
	return e.checkpoint(ctx)
}

func (e *sqlite) Settle(ctx context.Context, tables ...string) error {
	for _, table := range tables {
		if _, err := e.db.ExecContext(ctx, "ANALYZE "+doubleQuoted(table)); err != nil {
			return err
		}
	}
	return e.checkpoint(ctx)
}

func (e *sqlite) checkpoint(ctx context.Context) error {
	var busy, pages, moved int
	err := e.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
	if err == nil && busy != 0 {
		err = errors.New("the write-ahead log cannot be emptied while it is read")
	}
	return err
}

func (e *sqlite) Sizes(ctx context.Context, table string) (s Sizes, err error) {
	if err := e.checkpoint(ctx); err != nil {
		return s, err
	}
	// Closing the file releases this process's locks on it (https://www.sqlite.org/howtocorrupt.html, section 2.2). No
	// other process uses it, and connections of this one do not need the locks.
	file, err := openPages(e.path())
	if err != nil {
		return s, err
	}
	defer func() { _ = file.Close() }() // read only
	type tree struct {
		kind, text string
		root       int64 // page
	}
	list, err := collect(ctx, e.db, func(t *tree) []any { return []any{&t.kind, &t.text, &t.root} },
		"SELECT type, coalesce(sql, ''), rootpage FROM sqlite_schema WHERE tbl_name = ? AND rootpage > 0", table)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("no table %s", table)
	}
	if err != nil {
		return s, err
	}
	for _, t := range list {
		n, err := file.count(t.root, 0)
		if err != nil {
			return s, fmt.Errorf("the pages of %s: %w", table, err)
		}
		s.Table += n * file.size
		switch {
		case t.kind == "table":
		case t.text == "": // the index of a PRIMARY KEY has no statement
			s.Primary += n * file.size
		default:
			s.Secondary += n * file.size
		}
	}
	return s, nil
}

// Log is unknown: the log is overwritten from its start, so its length is no measure.
func (e *sqlite) Log(context.Context) (int64, error) { return -1, nil }

func (e *sqlite) Close() error {
	var err error
	if e.db != nil {
		err = e.db.Close()
	}
	return errors.Join(err, os.RemoveAll(e.dir))
}
