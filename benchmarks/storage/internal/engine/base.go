package engine

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// base is what all engines have in common.
type base struct {
	name  string // one of Names
	words words
	db    *sql.DB
	left  string

	mu    sync.Mutex
	notes []string
}

func (b *base) Name() string    { return b.name }
func (b *base) DB() *sql.DB     { return b.db }
func (b *base) Returning() bool { return true }
func (b *base) Left() string    { return b.left }

// add adds a note without duplicates.
func (b *base) add(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.notes, note) {
		b.notes = append(b.notes, note)
	}
}

func (b *base) Notes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.notes)
}

func (b *base) Create(ctx context.Context, t Table) error {
	for _, statement := range b.words.statements(t) {
		if _, err := b.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (b *base) Drop(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := b.db.ExecContext(ctx, "DROP TABLE IF EXISTS "+b.words.quote(name)); err != nil {
			return fmt.Errorf("drop table %s: %w", name, err)
		}
	}
	return nil
}

// settings returns the version, after the product's name, and the results of a query for each name.
func (b *base) settings(ctx context.Context, product, version, query string, names ...string) ([]measure.Setting, error) {
	settings := []measure.Setting{{Name: "version"}}
	queries := []string{version}
	for _, name := range names {
		settings, queries = append(settings, measure.Setting{Name: name}), append(queries, query+name)
	}
	for i, query := range queries {
		if err := b.db.QueryRowContext(ctx, query).Scan(&settings[i].Value); err != nil {
			return nil, fmt.Errorf("%s: %w", query, err)
		}
	}
	settings[0].Value = product + settings[0].Value
	return settings, nil
}

// asBytes converts a UUID for drivers that do not know the type.
func asBytes(v any) any {
	if id, ok := v.([16]byte); ok {
		return id[:]
	}
	return v
}

// collect returns the rows of a query. fields returns where to store the columns of one.
func collect[T any](ctx context.Context, db *sql.DB, fields func(row *T) []any, query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		var row T
		if err := rows.Scan(fields(&row)...); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// texts returns the only column of a query.
func texts(ctx context.Context, db *sql.DB, query string, args ...any) ([]string, error) {
	return collect(ctx, db, func(s *string) []any { return []any{s} }, query, args...)
}

// words are the parts of CREATE TABLE that differ between dialects.
type words struct {
	quote   func(name string) string
	key     func(t Table) string // the key column's type and constraint
	columns map[Type]string
	like    func(t Table) string // the type of a column that refers to the key
	after   string               // after the closing parenthesis
}

// statements returns CREATE TABLE and CREATE INDEX for a table.
func (w words) statements(t Table) []string {
	parts := []string{w.quote("id") + " " + w.key(t)}
	var references []string
	for _, c := range t.Columns {
		columnType := w.columns[c.Type]
		if c.Type == Key {
			columnType = w.like(t)
		}
		parts = append(parts, w.quote(c.Name)+" "+columnType+" NOT NULL")
		if c.References != "" {
			references = append(references, fmt.Sprintf("FOREIGN KEY (%s) REFERENCES %s (%s)",
				w.quote(c.Name), w.quote(c.References), w.quote("id")))
		}
	}
	parts = append(parts, references...)
	list := []string{fmt.Sprintf("CREATE TABLE %s (%s)%s", w.quote(t.Name), strings.Join(parts, ", "), w.after)}
	for _, column := range t.Indexes {
		list = append(list, fmt.Sprintf("CREATE INDEX %s ON %s (%s)", w.quote(t.Name+"_"+column), w.quote(t.Name),
			w.quote(column)))
	}
	return list
}

func doubleQuoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func backQuoted(name string) string   { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
