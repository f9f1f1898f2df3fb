package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
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

// chunk is how many IDs are sorted at once.
const chunk = 1 << 19

// spool holds IDs in 3 to 9 bytes each: runs of a chunk, each ID as the difference to the one before.
type spool struct {
	database int  // 1 is that of --with
	issued   bool // the IDs come in the order of issue, which the runs keep
	runs     [][]byte
	last     []snowflake.ID
	scratch  []byte
	n        int
}

func (s *spool) add(id snowflake.ID) {
	if len(s.last) == chunk {
		s.flush()
	}
	s.last = append(s.last, id)
	s.n++
}

func (s *spool) flush() {
	if !s.issued {
		slices.Sort(s.last)
	}
	s.scratch = s.scratch[:0]
	before := snowflake.ID(0)
	for _, id := range s.last {
		s.scratch, before = binary.AppendVarint(s.scratch, int64(id-before)), id // a difference may overflow, and its sum then does
	}
	s.runs, s.last = append(s.runs, bytes.Clone(s.scratch)), s.last[:0]
}

// sample returns at most some 65,536 IDs, of which 1,024 each were added one after the other.
func (s *spool) sample() (some []snowflake.ID) {
	i, every := 0, s.n/65536+1
	for _, run := range s.runs {
		for c := (cursor{rest: run}); c.next(); i++ {
			if i/1024%every == 0 {
				some = append(some, c.id)
			}
		}
	}
	return some
}

// sort gives up the order of issue, which it passes on. Nothing can be added afterwards.
func (s *spool) sort(follow func(snowflake.ID)) {
	if runs := s.runs; s.issued {
		s.issued, s.runs = false, nil
		for i, run := range runs {
			for c := (cursor{rest: run}); c.next(); {
				follow(c.id)
				s.last = append(s.last, c.id)
			}
			runs[i] = nil
			s.flush()
		}
	}
	s.last, s.scratch = nil, nil
}

// cursor reads a run.
type cursor struct {
	id       snowflake.ID
	rest     []byte
	database int
}

func (c *cursor) next() bool {
	difference, n := binary.Varint(c.rest) // n is 0 at the end
	c.id, c.rest = c.id+snowflake.ID(difference), c.rest[n:]
	return n > 0
}

// merge counts the IDs of all spools in ascending order, equal ones of the first database first.
func (a *audit) merge(ctx context.Context) error {
	var heads []*cursor // the least is last
	push := func(c *cursor) {
		if c.next() {
			at, _ := slices.BinarySearchFunc(heads, c, func(x, y *cursor) int {
				return cmp.Or(cmp.Compare(y.id, x.id), cmp.Compare(y.database, x.database))
			})
			heads = slices.Insert(heads, at, c)
		}
	}
	for _, s := range a.spools {
		for _, run := range s.runs {
			push(&cursor{rest: run, database: s.database})
		}
	}
	for len(heads) > 0 && ctx.Err() == nil {
		c := heads[len(heads)-1]
		a.add(c.id, c.database)
		heads = heads[:len(heads)-1]
		push(c)
	}
	return ctx.Err()
}

// parse reads a value of a database, or a text, and counts those that are not IDs.
func (a *audit) parse(value any) (id snowflake.ID, ok bool) {
	if a.read++; a.terminal != nil && a.read%1_000_000 == 0 {
		fmt.Fprintf(a.terminal, "%d million rows\r", a.read/1_000_000)
	}
	var text string
	switch v := value.(type) {
	case nil:
		a.nulls++
		return 0, false
	case int64:
		return snowflake.ID(v), true
	case []byte:
		text = string(v)
	default:
		text = fmt.Sprint(v)
	}
	id, err := readID(text, "auto")
	if err != nil {
		if a.notIDs++; a.notIDs == 1 {
			a.fault = reasonOf(text, err)
		}
	}
	return id, err == nil
}

// column is where the IDs of a table are.
type column struct{ dsn, table, column, by string }

// query reads the column in the order of by, with whether by has no value; or in ascending order.
func (c column) query(dialect sqldb.Dialect) string {
	mark := "`" // SQLite takes "name" for a text if there is no such column
	if dialect == sqldb.Postgres {
		mark = `"`
	}
	quote := func(name string) string { return mark + strings.ReplaceAll(name, mark, mark+mark) + mark }
	columns, order := quote(c.column), quote(c.column)
	if c.by != "" {
		columns, order = columns+", "+quote(c.by)+" IS NULL", quote(c.by)+", "+order
	}
	return "SELECT " + columns + " FROM " + strings.ReplaceAll(quote(c.table), ".", mark+"."+mark) + " ORDER BY " + order
}

// integers are the types of columns that an index sorts by number. SQLite stores texts in them, too.
var integers = []string{"INT2", "INT4", "INT8", "SMALLINT", "MEDIUMINT", "INT", "BIGINT"}

// readTable counts the IDs as they come, if that is in ascending order and the layout is known. Otherwise it spools them:
// of two databases a server would not wait until the other one has been read.
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
	add, unordered := a.spool(database, a.issued).add, a.spool(database, false)
	kind := strings.TrimPrefix(types[0].DatabaseTypeName(), "UNSIGNED ")
	if a.given && !a.two && at.by == "" && s.dialect != sqldb.SQLite && slices.Contains(integers, kind) {
		a.now = a.clock() // it sees no ID that is issued later
		add = func(id snowflake.ID) { a.add(id, database) }
	}
	var value any
	var hasNone bool
	into := []any{&value, &hasNone}[:len(types)]
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		switch id, ok := a.parse(value); {
		case ok && hasNone:
			unordered.add(id)
			a.unordered++
		case ok:
			add(id)
		}
	}
	return rows.Err()
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
