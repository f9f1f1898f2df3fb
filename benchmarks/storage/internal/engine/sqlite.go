package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/tempdir"
)

// sqlite is a database file in its own folder, with a write-ahead log.
type sqlite struct {
	notes
	db       *sql.DB
	dir      *tempdir.Dir
	pageSize int64
}

func openSQLite(ctx context.Context, c Config) (Engine, error) {
	dir, err := tempdir.New(c.SQLiteDir, tempdir.Files)
	if err != nil {
		return nil, fmt.Errorf("a folder for SQLite: %w", err)
	}
	e := &sqlite{dir: dir}
	e.add("SQLite runs inside the client, so its CPU time includes the client's.")
	if left := tempdir.Left(c.SQLiteDir, tempdir.Files); len(left) > 0 {
		e.add("There are %d folders of killed runs. -cleanup removes them.", len(left))
	}
	synchronous := "OFF"
	if c.Durable {
		synchronous = "FULL"
	}
	query := url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {synchronous}, "_busy_timeout": {"60000"},
		"_foreign_keys": {"1"}, "_txlock": {"immediate"},
	}
	e.db, err = sql.Open("sqlite3", "file:"+inURI.Replace(filepath.ToSlash(e.path()))+"?"+query.Encode())
	if err == nil {
		err = e.db.QueryRowContext(ctx, "PRAGMA page_size").Scan(&e.pageSize)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open SQLite in %s: %w", dir.Path, err), e.Close())
	}
	return e, nil
}

// inURI escapes the special characters of a file URI: https://www.sqlite.org/uri.html.
var inURI = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")

func (e *sqlite) path() string { return filepath.Join(e.dir.Path, "storage.db") }

func (e *sqlite) Name() string             { return "sqlite" }
func (e *sqlite) Dialect() string          { return "sqlite" }
func (e *sqlite) DB() *sql.DB              { return e.db }
func (e *sqlite) Placeholder(n int) string { return fmt.Sprintf("?%d", n) }

func (e *sqlite) Returning() bool { return true } // since 3.35

func (e *sqlite) Value(v any) any {
	if id, ok := v.([16]byte); ok {
		return id[:]
	}
	return v
}

func (e *sqlite) Settings(ctx context.Context) ([]Setting, error) {
	var version string
	if err := e.db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return nil, err
	}
	settings := []Setting{{"version", "SQLite " + version}}
	for _, name := range []string{"journal_mode", "synchronous", "page_size", "cache_size"} {
		var value string
		if err := e.db.QueryRowContext(ctx, "PRAGMA "+name).Scan(&value); err != nil {
			return nil, err
		}
		settings = append(settings, Setting{name, value})
	}
	return settings, nil
}

func (e *sqlite) words() words {
	return words{
		quote: doubleQuoted,
		key: func(t Table) string {
			switch {
			case t.Kind.Strict:
				return "INTEGER PRIMARY KEY AUTOINCREMENT"
			case t.Kind.Store == key.Integer && !t.Kind.Beside:
				return "INTEGER PRIMARY KEY" // the rowid: https://www.sqlite.org/lang_createtable.html#rowid
			default:
				return e.like(t.Kind) + " PRIMARY KEY NOT NULL"
			}
		},
		columns: map[Type]string{Bigint: "INTEGER", Name: "TEXT", Moment: "INTEGER"},
		like:    func(t Table) string { return e.like(t.Kind) },
	}
}

func (e *sqlite) like(k key.Kind) string {
	switch {
	case k.Store == key.UUID:
		return "BLOB"
	case k.Store == key.Text:
		return "TEXT"
	case k.Beside:
		return "BIGINT"
	default:
		return "INTEGER"
	}
}

func (e *sqlite) Create(ctx context.Context, t Table) error {
	for _, statement := range e.words().statements(t) {
		if _, err := e.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// Drop also frees the pages, so that the next table starts in a file of the same size.
func (e *sqlite) Drop(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := e.db.ExecContext(ctx, "DROP TABLE IF EXISTS "+doubleQuoted(name)); err != nil {
			return err
		}
	}
	if _, err := e.db.ExecContext(ctx, "VACUUM"); err != nil {
		return err
	}
	return e.checkpoint(ctx)
}

func (e *sqlite) Bulk(context.Context, *sql.Conn, string, []string, [][]any) error { return ErrNoBulk }

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

func (e *sqlite) Trees(ctx context.Context, table string) ([]Tree, error) {
	if err := e.checkpoint(ctx); err != nil {
		return nil, err
	}
	// Closing the file releases this process's locks on it (https://www.sqlite.org/howtocorrupt.html, section 2.2). No
	// other process uses it, and connections of this one do not need the locks.
	file, err := openPages(e.path())
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // read only
	rows, err := e.db.QueryContext(ctx,
		`SELECT type, name, rootpage, coalesce(sql, '') FROM sqlite_schema WHERE tbl_name = ? AND rootpage > 0
		ORDER BY rowid`, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var trees []Tree
	for rows.Next() {
		var kind, name, text string
		var root int64
		if err := rows.Scan(&kind, &name, &root, &text); err != nil {
			return nil, err
		}
		usage, err := file.tree(root)
		if err != nil {
			return nil, fmt.Errorf("the pages of %s: %w", name, err)
		}
		tree := Tree{
			Name: name, Role: Secondary, Bytes: usage.pages * file.size, Pages: usage.pages,
			Density: usage.density(), Fragmentation: usage.fragmentation(),
		}
		switch {
		case kind == "table" && strings.Contains(text, "INTEGER PRIMARY KEY"):
			tree.Role = Clustered
		case kind == "table":
			tree.Role = Rows
		case text == "": // the index of a PRIMARY KEY has no statement
			tree.Role = Primary
		}
		trees = append(trees, tree)
	}
	if len(trees) == 0 {
		return nil, errors.Join(fmt.Errorf("no table %s", table), rows.Err())
	}
	return trees, rows.Err()
}

func (e *sqlite) Usage(context.Context) (Usage, error) {
	// The log is overwritten from its start, so its length is no measure, but nothing else in this process writes much.
	return Usage{Log: -1, PageImages: -1, Written: bytesWritten(), Reads: -1, Hits: -1}, nil
}

func (e *sqlite) Close() error {
	var errs []error
	if e.db != nil {
		errs = append(errs, e.db.Close())
	}
	errs = append(errs, e.dir.Remove())
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}
