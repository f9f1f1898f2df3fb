package engine

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// base is what all engines have in common.
type base struct {
	name, dialect string
	words         words
	db            *sql.DB
	left          string
	notes         []string
}

func (b *base) Name() string           { return b.name }
func (b *base) Dialect() string        { return b.dialect }
func (b *base) DB() *sql.DB            { return b.db }
func (b *base) Returning() bool        { return true }
func (b *base) Left() string           { return b.left }
func (b *base) Notes() []string        { return b.notes }
func (b *base) Placeholder(int) string { return "?" }

// Value converts UUIDs for drivers that do not know [16]byte.
func (b *base) Value(v any) any {
	if id, ok := v.([16]byte); ok {
		return id[:]
	}
	return v
}

// add adds a note without duplicates.
func (b *base) add(note string) {
	if !slices.Contains(b.notes, note) {
		b.notes = append(b.notes, note)
	}
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
		if _, err := b.db.ExecContext(ctx, "DROP TABLE IF EXISTS "+name); err != nil {
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

// words are the parts of CREATE TABLE that differ between dialects. No name needs quotes.
type words struct {
	column func(k key.Kind) string // the type of the key and of columns that refer to it
	key    func(k key.Kind) string // follows it in the key's definition
	text   string                  // the type of a short text
	after  string                  // after the closing parenthesis
}

// statements returns CREATE TABLE and CREATE INDEX for a table.
func (w words) statements(t Table) []string {
	parts := []string{"id " + w.column(t.Kind) + w.key(t.Kind)}
	var references []string
	for _, c := range t.Columns {
		columnType := "BIGINT"
		switch {
		case c.Text:
			columnType = w.text
		case c.References != "":
			columnType = w.column(t.Kind)
			references = append(references, fmt.Sprintf("FOREIGN KEY (%s) REFERENCES %s (id)", c.Name, c.References))
		}
		parts = append(parts, c.Name+" "+columnType+" NOT NULL")
	}
	list := []string{fmt.Sprintf("CREATE TABLE %s (%s)%s", t.Name, strings.Join(append(parts, references...), ", "), w.after)}
	for _, column := range t.Indexes {
		list = append(list, fmt.Sprintf("CREATE INDEX %s_%s ON %s (%s)", t.Name, column, t.Name, column))
	}
	return list
}
