package engine

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

	e := &sqlite{base: base{name: "sqlite", dialect: "sqlite", words: sqliteWords}, dir: dir}
	// As applications set it: with the write-ahead log a commit does not wait for the disk, but checkpoints do. OFF
	// would hide what it costs to write many pages.
	query := url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"NORMAL"}, "_busy_timeout": {"60000"},
		"_foreign_keys": {"1"}, "_txlock": {"immediate"},
	}
	e.db, _ = sql.Open("sqlite3", "file:"+inURI.Replace(filepath.ToSlash(e.path()))+"?"+query.Encode()) // it exists
	if err := e.db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open SQLite in %s: %w", dir, err), e.Close())
	}

	return e, nil
}

// inURI escapes the special characters of a file URI: https://www.sqlite.org/uri.html.
var inURI = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")

func (e *sqlite) path() string { return filepath.Join(e.dir, "storage.db") }

func (e *sqlite) Settings(ctx context.Context) ([]measure.Setting, error) {
	return e.settings(ctx, "SQLite ", "SELECT sqlite_version()", "PRAGMA ", "journal_mode", "synchronous", "page_size",
		"cache_size")
}

// sqliteWords make an INTEGER key the rowid: https://www.sqlite.org/lang_createtable.html#rowid.
var sqliteWords = words{
	column: func(k key.Kind) string {
		if k.Beside {
			return "BIGINT"
		}
		return [...]string{"INTEGER", "BLOB", "TEXT"}[k.Store]
	},
	key:  func(key.Kind) string { return " PRIMARY KEY NOT NULL" },
	text: "TEXT",
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
		if _, err := e.db.ExecContext(ctx, "ANALYZE "+table); err != nil {
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
	file, err := os.Open(e.path())
	if err != nil {
		return s, err
	}
	defer func() { _ = file.Close() }() // read only

	type tree struct {
		kind, text string
		root, size int64 // pages; bytes of a page
	}
	list, err := collect(ctx, e.db, func(t *tree) []any { return []any{&t.kind, &t.text, &t.root, &t.size} },
		`SELECT type, coalesce(sql, ''), rootpage, page_size FROM sqlite_schema, pragma_page_size
		WHERE tbl_name = ? AND rootpage > 0`, table)

	if err == nil && len(list) == 0 {
		err = fmt.Errorf("no table %s", table)
	}

	for _, t := range list {
		var n int64
		if n, err = pages(file, t.size, t.root); err != nil {
			return s, fmt.Errorf("the pages of %s: %w", table, err)
		}

		s.Table += n * t.size
		switch {
		case t.kind == "table":
		case t.text == "": // the index of a PRIMARY KEY has no statement
			s.Primary += n * t.size
		default:
			s.Secondary += n * t.size
		}
	}

	return s, err
}

// pages returns the number of pages of a B-tree, whose root is not page 1 (https://www.sqlite.org/fileformat2.html).
// The extension dbstat reports the same but is not part of every build. The tool's rows are far shorter than a page, so
// there are no overflow pages.
func pages(file io.ReaderAt, size, root int64) (int64, error) {
	page := make([]byte, size)
	if _, err := file.ReadAt(page, (root-1)*size); err != nil {
		return 0, err
	}
	if kind := page[0]; kind == 10 || kind == 13 { // a leaf of an index or of a table
		return 1, nil
	}

	sum, last := int64(1), binary.BigEndian.Uint16(page[3:])
	for i := range last + 1 {
		child := page[8:] // the last one
		if i < last {
			child = page[binary.BigEndian.Uint16(page[12+2*i:]):]
		}

		n, err := pages(file, size, int64(binary.BigEndian.Uint32(child)))
		if err != nil {
			return 0, err
		}

		sum += n
	}

	return sum, nil
}

func (e *sqlite) Close() error { return errors.Join(e.db.Close(), os.RemoveAll(e.dir)) }
