package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/audit"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// rowReader turns values into rows.
type rowReader struct {
	count    int
	progress io.Writer // nil for none
}

// row reads a value of a database, or a word of an input.
func (p *rowReader) row(value any, read func(text, form string) (snowflake.ID, error)) audit.Row {
	p.count++
	if p.progress != nil && p.count%1_000_000 == 0 {
		fmt.Fprintf(p.progress, "%d million rows\r", p.count/1_000_000)
	}

	switch v := value.(type) {
	case nil:
		return audit.Row{Null: true}
	case int64:
		return audit.Row{ID: snowflake.ID(v)}
	case []byte:
		value = string(v)
	}

	text := fmt.Sprint(value)
	id, err := read(text, "auto")
	if err != nil {
		return audit.Row{Fault: notID{text, err}}
	}
	return audit.Row{ID: id}
}

// notID says why a text is not an ID. Few of many are printed.
type notID struct {
	text string
	err  error
}

func (e notID) Error() string { return reasonOf(e.text, e.err) }

// words returns the words of the standard input.
func (p *rowReader) words(ctx context.Context, s streams) iter.Seq2[audit.Row, error] {
	return func(yield func(audit.Row, error) bool) {
		errStopped := errors.New("stopped")
		noWait := func() error { return nil }
		err := s.eachWord(ctx, noWait, func(word string, _ int) error {
			if !yield(p.row(word, readID), nil) {
				return errStopped
			}
			return nil
		})

		switch {
		case err == nil, errors.Is(err, errStopped):
			return
		case errors.Is(err, errNoInput):
			err = fmt.Errorf("%w; for a table give --table", err)
		}
		yield(audit.Row{}, err)
	}
}

// auditTable is a table with IDs.
type auditTable struct{ table, column, by string }

// integers are the column types that an index sorts by number. In SQLite such a column can hold texts as well.
var integers = []string{"INT2", "INT4", "INT8", "SMALLINT", "MEDIUMINT", "INT", "BIGINT"}

// read reads the table in a database.
func (t *auditTable) read(ctx context.Context, dsn string, p *rowReader, a *audit.Audit) error {
	s, err := readDSN(dsn)
	if err != nil {
		return err
	}
	if s.dialect == sqldb.Postgres {
		s.dsn = cancelling(s.dsn)
	}
	pool, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()

	rows, err := pool.QueryContext(ctx, t.query(s.dialect))
	if err != nil {
		return explain(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}

	var source audit.Source
	if t.by == "" {
		kind := strings.TrimPrefix(types[0].DatabaseTypeName(), "UNSIGNED ")
		source.Sorted = s.dialect != sqldb.SQLite && slices.Contains(integers, kind)
	} else {
		source.Zoned, source.Local = zoneOf(s.dialect, types[1].DatabaseTypeName())
	}
	source.Rows = p.rows(rows, t.by != "")
	return a.Read(source)
}

// tableParts are the names in schema.table. One with a dot stands in double quotes.
var tableParts = regexp.MustCompile(`"[^"]+"|[^.]+`)

// query reads the column in ascending order, or with the column of --by and in its order.
func (t *auditTable) query(dialect sqldb.Dialect) string {
	mark := "`" // SQLite takes "name" for a text if there is no such column
	if dialect == sqldb.Postgres {
		mark = `"`
	}
	quote := func(name string) string { return mark + strings.ReplaceAll(name, mark, mark+mark) + mark }

	table := tableParts.ReplaceAllStringFunc(t.table, func(name string) string {
		return quote(strings.Trim(name, `"`))
	})
	columns, order := quote(t.column), quote(t.column)
	if t.by != "" {
		columns, order = columns+", "+quote(t.by), quote(t.by)+", "+order
	}
	return "SELECT " + columns + " FROM " + table + " ORDER BY " + order
}

// rows returns the rows of a query, which has a second column with --by.
func (p *rowReader) rows(rows *sql.Rows, hasBy bool) iter.Seq2[audit.Row, error] {
	return func(yield func(audit.Row, error) bool) {
		var value, by any
		into := []any{&value}
		if hasBy {
			into = append(into, &by)
		}

		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				yield(audit.Row{}, err)
				return
			}

			row := p.row(value, parseID)
			if hasBy {
				row.At, row.Unordered = timeOf(by), by == nil
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(audit.Row{}, err)
		}
	}
}

// timeOf returns a value of --by, which MySQL and SQLite have as a text. It is the zero Time for other values.
func timeOf(by any) time.Time {
	if at, isTime := by.(time.Time); isTime {
		return at
	}
	at, _ := time.Parse(time.DateTime, fmt.Sprintf("%s", by))
	return at
}

// zoneOf says what is known of the times of a type. MySQL prints a TIMESTAMP as a local time, but sorts by UTC.
func zoneOf(dialect sqldb.Dialect, kind string) (zoned, local bool) {
	zoned = kind == "TIMESTAMPTZ"
	sortsByUTC := zoned || dialect == sqldb.MySQL && kind == "TIMESTAMP"
	isTime := strings.Contains(kind, "TIME") || dialect == sqldb.SQLite && kind == "TEXT"
	return zoned, isTime && !sortsByUTC
}

// cancelling returns a DSN with which the end of a context ends the query on the server too. Without it pgx closes the
// connection, and asks the server in a goroutine. An interrupted program does not wait for that one.
func cancelling(dsn string) string {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return dsn // connect returns the error
	}
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 3 * time.Second}
	}
	return stdlib.RegisterConnConfig(config)
}

// unknown matches the errors in which PostgreSQL, MySQL and SQLite report an unknown table or column.
var unknown = regexp.MustCompile(`SQLSTATE 42(P01|703)|Error (1054|1146)|no such (table|column)`)

// explain adds the probable reason to an error.
func explain(err error) error {
	if unknown.MatchString(err.Error()) {
		return fmt.Errorf("%w\nIs this the database with the table? --table and --column are its names, "+
			"in upper and lower case", err)
	}
	return err
}
