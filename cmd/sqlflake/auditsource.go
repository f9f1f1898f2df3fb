package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// idList is IDs in blocks, so that it grows without a copy.
type idList [][]snowflake.ID

const blockSize = 1 << 16

func (l *idList) add(id snowflake.ID) {
	last := len(*l) - 1
	if last < 0 || len((*l)[last]) == blockSize {
		*l = append(*l, make([]snowflake.ID, 0, blockSize))
		last++
	}
	(*l)[last] = append((*l)[last], id)
}

func (l idList) at(i int) *snowflake.ID { return &l[i/blockSize][i%blockSize] }

func (l idList) Len() int {
	if len(l) == 0 {
		return 0
	}
	return (len(l)-1)*blockSize + len(l[len(l)-1])
}

func (l idList) Swap(i, j int) { *l.at(i), *l.at(j) = *l.at(j), *l.at(i) }

// byTime sorts a list by the times of a layout.
type byTime struct {
	idList
	*masks
}

func (l byTime) Less(i, j int) bool { return l.compare(*l.at(i), *l.at(j)) < 0 }

// sample returns at most some 65,536 IDs, of which 1,024 each were added one after the other.
func (l idList) sample() (some []snowflake.ID) {
	for i := range l.Len() {
		if i/1024%(l.Len()/65536+1) == 0 {
			some = append(some, *l.at(i))
		}
	}
	return some
}

// parse reads a value of a database, or a word of an input, and counts those that are not IDs.
func (a *audit) parse(value any, read func(text, form string) (snowflake.ID, error)) (id snowflake.ID, ok bool) {
	if a.read++; a.terminal != nil && a.read%1_000_000 == 0 {
		fmt.Fprintf(a.terminal, "%d million rows\r", a.read/1_000_000)
	}

	switch v := value.(type) {
	case nil:
		a.nulls++
		return 0, false
	case int64:
		return snowflake.ID(v), true
	case []byte:
		value = string(v)
	}

	text := fmt.Sprint(value)
	id, err := read(text, "auto")
	if err != nil {
		if a.notIDs++; a.notIDs == 1 {
			a.fault = reasonOf(text, err)
		}
	}
	return id, err == nil
}

// column is where the IDs of a table are.
type column struct{ dsn, table, column, by string }

// tableParts are the names in schema.table. One with a dot stands in double quotes.
var tableParts = regexp.MustCompile(`"[^"]+"|[^.]+`)

// query reads the column, with the one of --by and in its order; or in ascending order.
func (c column) query(dialect sqldb.Dialect) string {
	mark := "`" // SQLite takes "name" for a text if there is no such column
	if dialect == sqldb.Postgres {
		mark = `"`
	}
	quote := func(name string) string { return mark + strings.ReplaceAll(name, mark, mark+mark) + mark }

	table := tableParts.ReplaceAllStringFunc(c.table, func(name string) string { return quote(strings.Trim(name, `"`)) })
	columns, order := quote(c.column), quote(c.column)
	if c.by != "" {
		columns, order = columns+", "+quote(c.by), quote(c.by)+", "+order
	}
	return "SELECT " + columns + " FROM " + table + " ORDER BY " + order
}

// integers are the types of columns that an index sorts by number. SQLite stores texts in them, too.
var integers = []string{"INT2", "INT4", "INT8", "SMALLINT", "MEDIUMINT", "INT", "BIGINT"}

// readTable counts the IDs as they come, if that is in ascending order and by time. Otherwise, and without a layout, it
// keeps them: of two databases a server would not wait until the other one has been read.
func (a *audit) readTable(ctx context.Context, at column, database int) error {
	s, err := readDSN(at.dsn)
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

	rows, err := pool.QueryContext(ctx, at.query(s.dialect))
	if err != nil {
		return explain(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}

	add, kind := a.lists[database].add, strings.TrimPrefix(types[0].DatabaseTypeName(), "UNSIGNED ")
	isSorted := at.by == "" && s.dialect != sqldb.SQLite && slices.Contains(integers, kind)
	if a.given && a.ascend() && !a.two && isSorted {
		a.now = a.clock() // it sees no ID that is issued later
		add = func(id snowflake.ID) { a.add(id, database) }
	}
	if at.by != "" {
		a.trustOrder(s.dialect, types[1].DatabaseTypeName())
	}

	var value, by any
	into := []any{&value, &by}[:len(types)]
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		id, ok := a.parse(value, parseID)
		switch {
		case ok && at.by == "":
			add(id)
		case ok && by == nil:
			a.unordered.add(id)
		case ok:
			add(id)
			a.times.add(milliOf(by))
		}
	}
	return rows.Err()
}

// noTime stands for values of --by that are no times: it is the zero time.
const noTime = -62135596800000

// milliOf returns the Unix milliseconds of a value of --by, which MySQL and SQLite have as a text.
func milliOf(by any) snowflake.ID {
	at, isTime := by.(time.Time)
	if !isTime {
		at, _ = time.Parse(time.DateTime, fmt.Sprintf("%s", by))
	}
	return snowflake.ID(at.UnixMilli())
}

// trustOrder says how far times of the type may be from those of the IDs. Those without a zone may be local: hours off,
// and when clocks are set back in autumn, their order is wrong by one. MySQL prints a TIMESTAMP so, but sorts by UTC.
func (a *audit) trustOrder(dialect sqldb.Dialect, kind string) {
	a.tolerance = max(a.slack, 48*time.Hour)
	if kind == "TIMESTAMPTZ" {
		a.tolerance = max(a.slack, 30*time.Minute)
	}
	isTime := strings.Contains(kind, "TIME") || dialect == sqldb.SQLite && kind == "TEXT"
	isUTC := kind == "TIMESTAMPTZ" || dialect == sqldb.MySQL && kind == "TIMESTAMP"
	a.noZone = !a.slackGiven && isTime && !isUTC
	if a.noZone {
		a.slack = max(a.slack, time.Hour+snowflake.MaxLead)
	}
}

// cancelling returns a DSN with which the end of a context ends the query on the server, too. Without, pgx closes the
// connection, and asks the server in a goroutine for which an interrupted program does not wait.
func cancelling(dsn string) string {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return dsn // whose error is that of connect
	}
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 3 * time.Second}
	}
	return stdlib.RegisterConnConfig(config)
}

// unknown matches the errors of PostgreSQL, MySQL and SQLite about a name.
var unknown = regexp.MustCompile(`SQLSTATE 42(P01|703)|Error (1054|1146)|no such (table|column)`)

// explain adds the probable reason to an error.
func explain(err error) error {
	if unknown.MatchString(err.Error()) {
		return fmt.Errorf("%w\nIs this the database with the table? --table and --column are its names, in upper and lower case", err)
	}
	return err
}
