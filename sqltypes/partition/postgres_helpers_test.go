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

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// events is a table on PostgreSQL with partitions of days, in a zone where it is noon.
type events struct {
	*testing.T
	*sql.DB
	target testdb.Target
	today  time.Time // its start
}

const eventsTable = "CREATE TABLE events (id bigint PRIMARY KEY, body text) PARTITION BY RANGE (id)"

// newEvents returns an empty table.
func newEvents(t *testing.T, statement string) *events {
	t.Helper()
	target := testdb.Postgres(t)
	e := &events{T: t, DB: target.Open(t), target: target, today: noon}
	e.exec(statement)
	return e
}

// noon is the start of the day in a zone where it is noon when the tests begin, so that no test sees two days.
var noon = noonZone()

func noonZone() time.Time {
	start := time.Now().UTC().Add(-12 * time.Hour).Truncate(time.Second)
	midnight := start.Truncate(24 * time.Hour)
	return start.In(time.FixedZone("noon", int(midnight.Add(24*time.Hour).Sub(start)/time.Second)%86400))
}

// filledEvents returns a table with rows, for a parallel test.
func filledEvents(t *testing.T) *events {
	t.Helper()
	t.Parallel()
	e := newEvents(t, eventsTable)
	e.fill()
	return e
}

// fill makes the partitions of the last ten days, with rows.
func (e *events) fill() {
	e.Helper()
	e.maintain(e.set(partition.WithStart(e.day(-10))))
	e.insert(e.day(-10), e.day(1), time.Hour)
}

// day returns the start of a day relative to today.
func (e *events) day(n int) time.Time { return e.today.AddDate(0, 0, n) }

// partition returns the name of a day's partition.
func (e *events) partition(n int) string { return "events_" + e.day(n).Format("2006_01_02") }

func idAt(t time.Time) snowflake.ID {
	id, err := snowflake.Default().MinAt(t)
	if err != nil {
		panic(err)
	}
	return id
}

func (e *events) insert(from, to time.Time, every time.Duration) {
	e.Helper()
	var rows []string
	for at := from; at.Before(to); at = at.Add(every) {
		rows = append(rows, fmt.Sprintf("(%d)", idAt(at)))
	}
	e.exec("INSERT INTO events (id) VALUES " + strings.Join(rows, ", "))
}

func (e *events) exec(query string, args ...any) {
	e.Helper()
	if _, err := e.ExecContext(e.Context(), query, args...); err != nil {
		e.Fatalf("%s: %v", query, err)
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

// partitions returns the names of the partitions and their bounds.
func (e *events) partitions() []string {
	e.Helper()
	return e.texts(`SELECT c.relname || ' ' || pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events'::regclass AND NOT i.inhdetachpending ORDER BY 1`)
}

// want checks that there are these days' partitions, both ends included.
func (e *events) want(first, last int) {
	e.Helper()
	var want []string
	for n := first; n <= last; n++ {
		want = append(want, fmt.Sprintf("%s FOR VALUES FROM ('%d') TO ('%d')", e.partition(n), idAt(e.day(n)), idAt(e.day(n+1))))
	}
	if got := e.partitions(); !slices.Equal(got, want) {
		e.Fatalf("the partitions are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// tables returns the names of all tables in the schema of the test.
func (e *events) tables() []string {
	e.Helper()
	return e.texts("SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace ORDER BY 1")
}

// set returns a Set with limits that suit a test.
func (e *events) set(options ...partition.Option) *partition.Set {
	e.Helper()
	return e.newSet(partition.Day, append([]partition.Option{partition.WithLockTimeout(50 * time.Millisecond)}, options...)...)
}

func (e *events) newSet(unit partition.Unit, options ...partition.Option) *partition.Set {
	e.Helper()
	dialect := sqldb.Postgres
	if e.target.Driver == "mysql" {
		dialect = sqldb.MySQL
	}
	s, err := partition.New(dialect, "events", unit, append([]partition.Option{
		partition.WithLogger(slog.New(slog.DiscardHandler)), partition.WithZone(e.today.Location()),
		partition.WithStalls(time.Minute, time.Minute), // of this machine
	}, options...)...)
	e.must(err)
	return s
}

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
	if steps := e.maintain(s); !slices.Equal(steps, want) {
		e.Errorf("the steps are %q, want %q", steps, want)
	}
}

// fails checks that Maintain returns an error with these texts, and returns its steps.
func (e *events) fails(s *partition.Set, want error, texts ...string) []string {
	e.Helper()
	steps, err := s.Maintain(e.limit(), e.DB)
	e.is(err, want, texts...)
	return kinds(steps)
}

// blocked checks that Maintain does nothing, and reports why.
func (e *events) blocked(s *partition.Set, text string) {
	e.Helper()
	if steps := e.fails(s, partition.ErrBlocked, text); len(steps) > 0 {
		e.Errorf("the steps are %q", steps)
	}
}

// maintaining calls Maintain in the background.
func (e *events) maintaining(s *partition.Set) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := s.Maintain(e.limit(), e.DB)
		done <- err
	}()
	return done
}

// is checks that an error matches another one and has texts.
func (e *events) is(err, want error, texts ...string) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Errorf("the error is %v, want %v", err, want)
	}
	e.says(err, texts...)
}

// says checks that an error has texts.
func (e *events) says(err error, texts ...string) {
	e.Helper()
	for _, text := range texts {
		if !strings.Contains(fmt.Sprint(err), text) {
			e.Errorf("the error is %v, want %q", err, text)
		}
	}
}

// same checks a list.
func (e *events) same(got []string, want ...string) {
	e.Helper()
	if !slices.Equal(got, want) {
		e.Errorf("got %q, want %q", got, want)
	}
}

func (e *events) tableCount(tables []string, want int) {
	e.Helper()
	if len(tables) != want {
		e.Errorf("the tables are %q, want %d", tables, want)
	}
}

func (e *events) hasTable(name string, want bool) {
	e.Helper()
	if tables := e.tables(); slices.Contains(tables, name) != want {
		e.Errorf("the tables are %q; %s is among them: want %v", tables, name, want)
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
		texts = append(texts, fmt.Sprintf("%s %s", step.Action, step.Partition))
	}
	return texts
}

// hold begins a transaction that has read the table, and returns the function that ends it.
func (e *events) hold(query string) (end func()) {
	e.Helper()
	tx, err := e.BeginTx(e.Context(), nil)
	e.must(err)
	e.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.ExecContext(e.Context(), query); err != nil {
		e.Fatalf("%s: %v", query, err)
	}
	return func() {
		e.Helper()
		e.must(tx.Commit())
	}
}
