package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// base is what all engines have in common.
type base struct {
	name, dialect string
	words         words
	db            *sql.DB
	notes         []string
}

func (b *base) Name() string           { return b.name }
func (b *base) Dialect() string        { return b.dialect }
func (b *base) DB() *sql.DB            { return b.db }
func (b *base) Returning() bool        { return true }
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

// settings returns the version, after the product's name, and the results of a query for each name. Their names begin
// with the engine's.
func (b *base) settings(ctx context.Context, product, version, query string, names ...string) (
	[]measure.Setting, error,
) {
	settings := []measure.Setting{{Name: b.name + ".version"}}
	queries := []string{version}
	for _, name := range names {
		settings, queries = append(settings, measure.Setting{Name: b.name + "." + name}), append(queries, query+name)
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
func collect[T any](ctx context.Context, db *sql.DB, fields func(row *T) []any, query string, args ...any) (
	[]T, error,
) {
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

	columns := strings.Join(append(parts, references...), ", ")
	list := []string{fmt.Sprintf("CREATE TABLE %s (%s)%s", t.Name, columns, w.after)}
	for _, column := range t.Indexes {
		list = append(list, fmt.Sprintf("CREATE INDEX %s_%s ON %s (%s)", t.Name, column, t.Name, column))
	}

	return list
}

// placePrefix is the prefix of the schemas and databases of the tool; eight random hexadecimal digits follow.
const placePrefix = "sqlflake_storage_"

const (
	connectTimeout = 15 * time.Second // for the first answer of a server
	closeTimeout   = time.Minute      // for removing a place
	idleConns      = 64               // kept by a pool, so that a run with many clients does not reconnect
)

// served is an engine on a server, with its own place there.
type served struct {
	base
	where   string         // names the server and the user, without the password
	connect func() *sql.DB // to no place
	what    string         // "SCHEMA" or "DATABASE"
	create  string         // follows the name of a place in CREATE
	drop    string         // follows the name of a place in DROP
	kills   string         // query for the statements that end the sessions of a place

	place string
	made  bool // the place exists, or may exist
}

// make creates the place.
func (s *served) make(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()

	admin := s.connect()
	defer admin.Close()
	if err := admin.PingContext(ctx); err != nil {
		return fmt.Errorf("%s cannot be reached; start it or correct the DSN: %w", s.where, err)
	}

	s.place = fmt.Sprintf("%s%08x", placePrefix, rand.Uint32())
	_, err := admin.ExecContext(ctx, "CREATE "+s.what+" "+s.place+s.create)
	s.made = err == nil || ctx.Err() != nil // if the server refuses, a place of this name is another's
	if err != nil {
		return fmt.Errorf("%s: create %s %s: %w", s.where, strings.ToLower(s.what), s.place, err)
	}

	return nil
}

func (s *served) dropText(place string) string {
	return "DROP " + s.what + " IF EXISTS " + place + s.drop
}

// Close drops the place. It ends the sessions that still use it, because they may hold locks.
func (s *served) Close() (err error) {
	if s.db != nil {
		err = s.db.Close()
	}
	if !s.made {
		return err
	}

	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()

	admin := s.connect()
	defer admin.Close()
	statements, failed := texts(ctx, admin, s.kills, s.place)
	for _, statement := range append(statements, s.dropText(s.place)) {
		if failed == nil || isNumber(failed, 1094) { // the session has ended by itself
			_, failed = admin.ExecContext(ctx, statement)
		}
	}

	if failed != nil {
		failed = fmt.Errorf("%s: %s is not removed; remove it with %s: %w",
			s.where, s.place, s.dropText(s.place), failed)
	}
	return errors.Join(err, failed)
}

func isNumber(err error, numbers ...uint16) bool {
	var my *mysql.MySQLError
	return errors.As(err, &my) && slices.Contains(numbers, my.Number)
}

// denied reports whether a statement failed because of missing rights.
func denied(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "42501" // insufficient_privilege
	}
	return isNumber(err, 1044, 1045, 1142, 1143, 1227)
}
