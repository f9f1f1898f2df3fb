package partition_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// events is a table with partitions of days, in a zone where it is noon.
type events struct {
	*testing.T
	*sql.DB
	target testdb.Target
	mysql  bool // or MariaDB
}

// noon is the start of the day in a zone where it is noon when the tests begin, so that no test sees two days.
var noon = noonZone()

func noonZone() time.Time {
	start := time.Now().UTC().Add(-12 * time.Hour).Truncate(time.Second)
	midnight := start.Truncate(24 * time.Hour)
	return start.In(time.FixedZone("noon", int(midnight.Add(24*time.Hour).Sub(start)/time.Second)%86400))
}

// day returns the start of a day relative to today.
func day(n int) time.Time { return noon.AddDate(0, 0, n) }

// dayName returns the name of a day's partition.
func dayName(n int) string { return "events_" + day(n).Format("2006_01_02") }

func idAt(t time.Time) snowflake.ID {
	id, err := snowflake.Default().MinAt(t)
	if err != nil {
		panic(err)
	}
	return id
}

const eventsTable = "CREATE TABLE events (id bigint PRIMARY KEY, body text) PARTITION BY RANGE (id)"

// newEvents executes statements in an empty database.
func newEvents(t *testing.T, target testdb.Target, statements string) *events {
	t.Helper()
	e := &events{T: t, DB: target.Open(t), target: target, mysql: target.Driver == "mysql"}
	e.exec(statements)
	return e
}

func onPostgres(t *testing.T, statements string) *events {
	t.Helper()
	return newEvents(t, testdb.Postgres(t), statements)
}

func onMariaDB(t *testing.T, statements string) *events {
	t.Helper()
	return newEvents(t, testdb.MariaDB(t), statements)
}

const plainColumns = "id bigint PRIMARY KEY, body text"

// filled returns a table with the partitions of ten days before today to three ahead, and four rows a day up to today.
func filled(t *testing.T, target testdb.Target, columns, by string) *events {
	t.Helper()
	e := newEvents(t, target, "")
	s := e.set(partition.WithStart(day(-10)))
	options, err := s.TableOptions()
	e.must(err)
	e.exec("CREATE TABLE events (" + columns + ") " + strings.Replace(options, "RANGE", by, 1))
	e.maintain(s)
	e.insert(day(-10), day(1), 6*time.Hour)
	return e
}

// filledPostgres returns a filled table for a parallel test.
func filledPostgres(t *testing.T) *events {
	t.Helper()
	t.Parallel()
	return filled(t, testdb.Postgres(t), plainColumns, "RANGE")
}

func filledMariaDB(t *testing.T) *events {
	t.Helper()
	return filled(t, testdb.MariaDB(t), plainColumns, "RANGE")
}

// both runs a test with a filled table in each database.
func both(t *testing.T, f func(t *testing.T, e *events)) {
	t.Run("postgres", func(t *testing.T) { f(t, filledPostgres(t)) })
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		f(t, filledMariaDB(t))
	})
}

func (e *events) insert(from, to time.Time, every time.Duration) {
	e.Helper()
	var rows []string
	for at := from; at.Before(to); at = at.Add(every) {
		rows = append(rows, fmt.Sprintf("(%d, '')", idAt(at)))
	}
	e.exec("INSERT INTO events (id, body) VALUES " + strings.Join(rows, ", "))
}

// exec executes a statement with arguments, or statements that end with a semicolon and the end of the line.
func (e *events) exec(query string, args ...any) {
	e.Helper()
	for statement := range strings.SplitAfterSeq(query, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := e.ExecContext(e.Context(), statement, args...); err != nil {
			e.Fatalf("%s: %v", statement, err)
		}
	}
}

func (e *events) count(query string, args ...any) (n int) {
	e.Helper()
	if err := e.QueryRowContext(e.Context(), query, args...).Scan(&n); err != nil {
		e.Fatalf("%s: %v", query, err)
	}
	return n
}

// counts checks what a query counts.
func (e *events) counts(want int, query string, args ...any) {
	e.Helper()
	if n := e.count(query, args...); n != want {
		e.Errorf("%s: %d, want %d", query, n, want)
	}
}

// rows checks the number of rows of a table.
func (e *events) rows(table string, want int) {
	e.Helper()
	e.counts(want, "SELECT count(*) FROM "+table)
}

func (e *events) texts(query string, args ...any) (texts []string) {
	e.Helper()
	rows, err := e.QueryContext(e.Context(), query, args...)
	e.must(err)
	defer rows.Close()
	for rows.Next() {
		texts = append(texts, "")
		e.must(rows.Scan(&texts[len(texts)-1]))
	}
	e.must(rows.Err())
	return texts
}

// either returns the text for the database.
func (e *events) either(postgres, mysql string) string {
	if e.mysql {
		return mysql
	}
	return postgres
}

// schema returns the schema of the test, or its database on MariaDB.
func (e *events) schema() string {
	e.Helper()
	return e.texts(e.either("SELECT current_schema()", "SELECT DATABASE()"))[0]
}

// partitions returns the names of the partitions and their ends.
func (e *events) partitions() []string {
	e.Helper()
	return e.texts(e.either(`SELECT concat(c.relname, ' ', coalesce(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''?([^'')]+)'), 'MAXVALUE'))
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events'::regclass AND NOT i.inhdetachpending
ORDER BY c.relname COLLATE "C"`,
		`SELECT CONCAT(partition_name, ' ', partition_description) FROM information_schema.partitions
WHERE table_schema = DATABASE() AND table_name = 'events' ORDER BY partition_name`))
}

// want checks that there are these days' partitions, both ends included, and the others.
func (e *events) want(first, last int, others ...string) {
	e.Helper()
	for n := first; n <= last; n++ {
		others = append(others, ends(dayName(n), day(n+1)))
	}
	slices.Sort(others)
	e.same(e.partitions(), others...)
	if e.Failed() {
		e.FailNow()
	}
}

// ends returns a partition and its end for want.
func ends(table string, at time.Time) string { return fmt.Sprintf("%s %d", table, idAt(at)) }

// tables returns the names of all tables in the schema of the test, and of their partitions on PostgreSQL.
func (e *events) tables() []string {
	e.Helper()
	return e.texts(e.either(
		"SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace ORDER BY 1",
		"SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"))
}

// loose returns the names of the tables that are neither events nor a partition.
func (e *events) loose() []string {
	e.Helper()
	return e.texts(e.either("SELECT relname FROM pg_class WHERE relkind = 'r' AND NOT relispartition AND relnamespace = current_schema()::regnamespace ORDER BY 1",
		"SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name <> 'events' ORDER BY 1"))
}

// comment returns the comment of a table.
func (e *events) comment(table string) string {
	e.Helper()
	return e.texts(e.either("SELECT coalesce(obj_description('"+table+"'::regclass, 'pg_class'), '')",
		"SELECT table_comment FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '"+table+"'"))[0]
}

// mark returns the comment of a table that was detached from events.
func (e *events) mark(n int, rest string) string {
	e.Helper()
	return fmt.Sprintf(`sqlflake: detached from "%s.events", keys %d to %d%s`, e.schema(), idAt(day(n)), idAt(day(n+1)), rest)
}

// set returns a Set with limits that suit a test.
func (e *events) set(options ...partition.Option) *partition.Set {
	e.Helper()
	return e.newSet(partition.Day, append([]partition.Option{partition.WithLockTimeout(50 * time.Millisecond)}, options...)...)
}

func (e *events) newSet(unit partition.Unit, options ...partition.Option) *partition.Set {
	e.Helper()
	s, err := partition.New(sqldb.Dialect(e.either(string(sqldb.Postgres), string(sqldb.MySQL))), "events", unit,
		append([]partition.Option{
			partition.WithLogger(slog.New(slog.DiscardHandler)), partition.WithZone(noon.Location()),
			partition.WithStalls(time.Minute, time.Minute), // of this machine
		}, options...)...)
	e.must(err)
	return s
}

var archiveNothing = partition.WithArchive(func(context.Context, string) error { return nil })

// limit returns a context that ends a call that would wait for ever.
func (e *events) limit() context.Context {
	ctx, cancel := context.WithTimeout(e.Context(), 3*time.Minute)
	e.Cleanup(cancel)
	return ctx
}

func (e *events) maintain(s *partition.Set) []string {
	e.Helper()
	steps, err := s.Maintain(e.limit(), e.DB)
	e.must(err)
	return kinds(steps)
}

// does checks the steps of Maintain.
func (e *events) does(s *partition.Set, want ...string) {
	e.Helper()
	e.same(e.maintain(s), want...)
}

// fails checks that Maintain returns an error with these texts, and returns its steps.
func (e *events) fails(s *partition.Set, want error, texts ...string) []string {
	e.Helper()
	steps, err := s.Maintain(e.limit(), e.DB)
	e.is(err, want, texts...)
	return kinds(steps)
}

// blocked checks that Maintain does nothing, and reports why.
func (e *events) blocked(s *partition.Set, texts ...string) {
	e.Helper()
	e.same(e.fails(s, partition.ErrBlocked, texts...))
}

// maintaining calls Maintain in the background.
func (e *events) maintaining(s *partition.Set) <-chan error {
	return background(func() error { _, err := s.Maintain(e.limit(), e.DB); return err })
}

func background(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// is checks that an error matches another one, if that is not nil, and has texts.
func (e *events) is(err, want error, texts ...string) {
	e.Helper()
	for _, text := range append(texts, "") {
		if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
			e.Errorf("the error is %v, want %v with %q", err, want, text)
		}
	}
}

// same checks a list.
func (e *events) same(got []string, want ...string) {
	e.Helper()
	if !slices.Equal(got, want) {
		e.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (e *events) ok(err error) {
	e.Helper()
	if err != nil {
		e.Error(err)
	}
}

func (e *events) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func kinds(steps []partition.Step) (texts []string) {
	for _, step := range steps {
		texts = append(texts, step.Action+" "+step.Partition)
	}
	return texts
}

// hold begins a transaction that has executed a statement, and returns the function that ends it.
func (e *events) hold(query string) (end func()) {
	e.Helper()
	tx, err := e.BeginTx(e.Context(), nil)
	e.must(err)
	e.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.ExecContext(e.Context(), query); err != nil {
		e.Fatalf("%s: %v", query, err)
	}
	return func() { _ = tx.Commit() } // the test may have ended
}

// until waits until the condition holds.
func (e *events) until(what string, condition func() bool) {
	e.Helper()
	for ctx := e.limit(); !condition(); time.Sleep(5 * time.Millisecond) {
		if ctx.Err() != nil || e.Failed() {
			e.Fatalf("no %s", what)
		}
	}
}

// waitFor waits until the query counts something.
func (e *events) waitFor(query string) {
	e.Helper()
	e.until(query, func() bool { return e.count(query) > 0 })
}

// waiting returns the number of statements that wait for the whole table.
func (e *events) waiting() int {
	e.Helper()
	if e.mysql {
		n, err := testdb.MetadataLockWaits(e.Context(), e.DB)
		e.must(err)
		return n
	}
	return e.count("SELECT count(*) FROM pg_locks WHERE relation = 'events'::regclass AND NOT granted AND mode = 'AccessExclusiveLock'")
}

func (e *events) waitForALock() {
	e.Helper()
	e.until("statement that waits", func() bool { return e.waiting() > 0 })
}

// lockOfChange is the lock that Maintain takes for each step on PostgreSQL.
const lockOfChange = `SELECT pg_advisory_xact_lock(hashtextextended('sqlflake/partition change ' || current_schema() || '.events', 0))`
