package partition_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// mysqlEvents is a table like events on MariaDB or MySQL. Its first partition, events_first, is empty.
type mysqlEvents struct{ *events }

const (
	mysqlTable        = "CREATE TABLE events (id bigint PRIMARY KEY, body text) COMMENT 'of \"users\" \\\\ ''all''' PARTITION BY RANGE (id)"
	mysqlUnsigned     = "CREATE TABLE events (id bigint unsigned PRIMARY KEY, body text) PARTITION BY RANGE (`id`)"
	mysqlRangeColumns = "CREATE TABLE events (id bigint, body char(10), PRIMARY KEY (id, body)) PARTITION BY RANGE COLUMNS (id)"
)

// newMySQL returns a table whose first partition ends ten days ago.
func newMySQL(t *testing.T, statement string) mysqlEvents {
	t.Helper()
	target := testdb.MariaDB(t)
	e := mysqlEvents{&events{T: t, DB: target.Open(t), target: target, today: noon}}
	e.exec(fmt.Sprintf("%s (PARTITION events_first VALUES LESS THAN (%d))", statement, idAt(e.day(-10))))
	return e
}

// filledMySQL returns a table with rows, for a parallel test.
func filledMySQL(t *testing.T) mysqlEvents {
	t.Helper()
	t.Parallel()
	e := newMySQL(t, mysqlTable)
	e.fill()
	return e
}

// fill makes the partitions that there are today without a retention, with rows.
func (e mysqlEvents) fill() {
	e.Helper()
	var added []string
	for n := -10; n <= 3; n++ {
		added = append(added, fmt.Sprintf("PARTITION %s VALUES LESS THAN (%d)", e.partition(n), idAt(e.day(n+1))))
	}
	e.exec("ALTER TABLE events ADD PARTITION (" + strings.Join(added, ", ") + ")")
	e.rows()
}

// rows inserts four rows for each of the last eleven days.
func (e mysqlEvents) rows() {
	e.Helper()
	var rows []string
	for at := e.day(-10); at.Before(e.day(1)); at = at.Add(6 * time.Hour) {
		rows = append(rows, fmt.Sprintf("(%d, '')", idAt(at)))
	}
	e.exec("INSERT INTO events (id, body) VALUES " + strings.Join(rows, ", "))
}

func (e mysqlEvents) set(options ...partition.Option) *partition.Set {
	e.Helper()
	return e.newSet(partition.Day, append([]partition.Option{partition.WithLockTimeout(time.Millisecond)}, options...)...)
}

// want checks that there are these days' partitions, both ends included, and the others, in their order.
func (e mysqlEvents) want(first, last int, others ...string) {
	e.Helper()
	want := others
	for n := first; n <= last; n++ {
		want = append(want, fmt.Sprintf("%s %d", e.partition(n), idAt(e.day(n+1))))
	}
	slices.Sort(want)
	e.same(e.partitions(), want...)
}

func (e mysqlEvents) partitions() []string {
	e.Helper()
	return e.texts(`SELECT CONCAT(partition_name, ' ', partition_description) FROM information_schema.partitions
WHERE table_schema = DATABASE() AND table_name = 'events' ORDER BY partition_name`)
}

func (e mysqlEvents) tables() []string {
	e.Helper()
	return e.texts("SELECT CONCAT(table_name, ': ', table_comment) FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1")
}

func TestMySQLCreatesAheadAndDropsBeyondTheRetention(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{"signed": mysqlTable, "unsigned": mysqlUnsigned, "columns": mysqlRangeColumns} {
		t.Run(name, func(t *testing.T) {
			e := newMySQL(t, statement)
			e.maintain(e.set(partition.WithStart(e.day(-10))))
			e.rows()
			e.want(-10, 3, "events_first "+idAt(e.day(-10)).String())
			plan, err := e.set(partition.WithRetain(3)).Plan(t.Context(), e.DB)
			if err != nil || len(plan.Partitions) != 15 || len(plan.Steps) != 8 || !strings.HasSuffix(plan.Table, ".events") ||
				time.Until(plan.Now).Abs() > time.Hour {
				t.Fatalf("%+v, %v", plan, err)
			}
			steps := e.maintain(e.set(partition.WithRetain(3)))
			if len(steps) != 8 || steps[0] != "drop events_first" || steps[7] != "drop "+e.partition(-4) {
				t.Fatalf("steps: %v", steps)
			}
			e.want(-3, 3)
			e.counts(16, "SELECT COUNT(*) FROM events")
			e.does(e.set(partition.WithRetain(3)))
		})
	}
}

func TestMySQLTableThatCanNotBeMaintainedIsRefused(t *testing.T) {
	target := testdb.MariaDB(t)
	e := mysqlEvents{&events{T: t, DB: target.Open(t), target: target, today: noon}}
	for _, c := range []struct{ statement, text string }{
		{"", "there is no table events"},
		{"CREATE VIEW events AS SELECT 1 AS id", "is a view"},
		{"CREATE TABLE events (id bigint PRIMARY KEY)", "is not partitioned"},
		{"CREATE TABLE events (id int PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (5))", "want bigint"},
		{"CREATE TABLE events (n bigint PRIMARY KEY) PARTITION BY RANGE (n) (PARTITION p VALUES LESS THAN (5))", "has no column id"},
		{
			"CREATE TABLE events (id bigint, n bigint, PRIMARY KEY (id, n)) PARTITION BY RANGE (n) (PARTITION p VALUES LESS THAN (5))",
			"by RANGE (`n`), want RANGE (id)",
		},
		{
			"CREATE TABLE events (id bigint, n bigint, PRIMARY KEY (id, n)) PARTITION BY RANGE COLUMNS (id, n) (PARTITION p VALUES LESS THAN (5, 5))",
			"by RANGE COLUMNS (`id`,`n`)",
		},
		{"CREATE TABLE events (id bigint PRIMARY KEY) PARTITION BY RANGE (id DIV 2) (PARTITION p VALUES LESS THAN (5))", "DIV 2"},
		{"CREATE TABLE events (id bigint PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2", "by HASH"},
		{"CREATE TABLE events (id bigint PRIMARY KEY) PARTITION BY LIST (id) (PARTITION p VALUES IN (5))", "by LIST"},
		{
			"CREATE TABLE events (id bigint, n int, PRIMARY KEY (id, n)) PARTITION BY RANGE (id) SUBPARTITION BY HASH (n) SUBPARTITIONS 2 (PARTITION p VALUES LESS THAN (5))",
			"has subpartitions",
		},
	} {
		if c.statement != "" {
			e.exec(c.statement)
		}
		_, planErr := e.set().Plan(t.Context(), e.DB)
		steps, err := e.set().Maintain(t.Context(), e.DB)
		if !errors.Is(planErr, partition.ErrTable) || !errors.Is(err, partition.ErrTable) || len(steps) > 0 || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, %v, want %v with %q", c.statement, err, planErr, partition.ErrTable, c.text)
		}
		if strings.HasPrefix(c.statement, "CREATE VIEW") {
			e.exec("DROP VIEW events")
		} else {
			e.exec("DROP TABLE IF EXISTS events")
		}
	}
}

func TestMySQLForeignRowsAreNotDropped(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{mysqlTable, mysqlUnsigned} {
		e := newMySQL(t, statement)
		e.fill()
		e.exec("INSERT INTO events VALUES (7, 'of a sequence')")
		steps, err := e.set(partition.WithRetain(3)).Maintain(t.Context(), e.DB)
		if !errors.Is(err, partition.ErrBlocked) || !strings.Contains(err.Error(), "the key 7") || len(steps) != 7 {
			t.Fatalf("%v, %v", kinds(steps), err)
		}
		e.want(-3, 3, "events_first "+idAt(e.day(-10)).String())
		e.counts(1, "SELECT COUNT(*) FROM events WHERE id = 7")
		e.exec("DELETE FROM events WHERE id = 7")
		e.maintain(e.set(partition.WithRetain(3)))
		e.want(-3, 3)
	}
}

func TestMySQLWrongLayoutDoesNothing(t *testing.T) {
	t.Parallel()
	e := newMySQL(t, mysqlUnsigned)
	e.fill()
	e.blocked(e.set(partition.WithRetain(3), partition.WithLayout(snowflake.MustPreset("twitter"))), "by this layout")
	e.counts(11*4, "SELECT COUNT(*) FROM events")
}

func TestMySQLClocksThatAreAheadRemoveNothing(t *testing.T) {
	e := filledMySQL(t)
	e.clocksAhead(e.set)
}

func TestMySQLBoundsAboveAllIDs(t *testing.T) {
	t.Parallel()
	for _, bound := range []string{"9223372036854775807", "9223372036854775808", "18446744073709551615", "MAXVALUE"} {
		e := newMySQL(t, mysqlUnsigned)
		e.exec("ALTER TABLE events ADD PARTITION (PARTITION rest VALUES LESS THAN (" + bound + "))")
		steps, err := e.set().Maintain(t.Context(), e.DB)
		if !errors.Is(err, partition.ErrBlocked) || !strings.Contains(err.Error(), "rest: it has no upper bound") || len(steps) > 0 {
			t.Errorf("%s: %v, %v", bound, steps, err)
		}
	}
}

func TestMySQLDefaultPartition(t *testing.T) {
	e := newMySQL(t, mysqlUnsigned)
	s := e.set(partition.WithDefault(), partition.WithAhead(1))
	if steps := e.maintain(s); !slices.Contains(steps, "create events_default") {
		t.Fatalf("steps: %v", steps)
	}
	e.want(0, 1, "events_default MAXVALUE", "events_first "+idAt(e.day(-10)).String())
	strays := []string{idAt(e.day(2)).String(), idAt(e.day(2).Add(time.Hour)).String(), idAt(e.day(5)).String(), "18446744073709551614"}
	for _, id := range strays {
		e.exec("INSERT INTO events VALUES (" + id + ", 'stray')")
	}
	s = e.set(partition.WithAhead(3)) // the default partition is known by its name
	steps, err := s.Maintain(t.Context(), e.DB)
	if !errors.Is(err, partition.ErrBlocked) || !strings.Contains(err.Error(), "MoveDefault") || len(steps) > 0 {
		t.Fatalf("%v, %v", steps, err)
	}
	moved, err := s.MoveDefault(t.Context(), e.DB, 2)
	if moved != 3 || !errors.Is(err, partition.ErrBlocked) || !strings.Contains(err.Error(), "9223372036854775807 is no ID") {
		t.Fatalf("MoveDefault: %d, %v, want 3 and the row that is no ID", moved, err)
	}
	e.counts(len(strays), "SELECT COUNT(*) FROM events")
	e.counts(2, "SELECT COUNT(*) FROM events PARTITION ("+e.partition(2)+")")
	s = e.set(partition.WithAhead(7), partition.WithDefault())
	if steps, err := s.Maintain(e.limit(), e.DB); !errors.Is(err, partition.ErrBlocked) || len(steps) > 0 {
		t.Errorf("%v, %v: a new partition copies the rows of the default partition", steps, err)
	}
	e.exec("DELETE FROM events PARTITION (events_default)")
	e.maintain(s)
	e.want(0, 2, "events_default MAXVALUE", "events_first "+idAt(e.day(-10)).String(), e.partition(5)+" "+idAt(e.day(6)).String(),
		e.partition(6)+" "+idAt(e.day(7)).String(), e.partition(7)+" "+idAt(e.day(8)).String())
}

// TestMySQLLongTransactionStopsNobody is also about what is left behind on connections of the pool.
func TestMySQLLongTransactionStopsNobody(t *testing.T) {
	e := filledMySQL(t)
	pool := e.target.Open(t)
	pool.SetMaxOpenConns(1)
	var before, after, connection, later int64
	e.must(pool.QueryRow("SELECT @@lock_wait_timeout, CONNECTION_ID()").Scan(&before, &connection))
	end := e.hold("SELECT * FROM events")
	for i, options := range [][]partition.Option{
		{partition.WithRetain(3)},
		{partition.WithRetain(10), partition.WithKeep(strings.ToUpper)},
		{partition.WithAhead(4)},
	} {
		_, err := e.set(append(options, partition.WithPatience(0))...).Maintain(e.limit(), pool)
		if !errors.Is(err, partition.ErrLocked) || !strings.Contains(err.Error(), "with waits of at most 1s") || strings.Count(err.Error(), "not available") != 1 {
			t.Errorf("%d: %v, want %v after a second", i, err, partition.ErrLocked)
		}
		e.exec(fmt.Sprintf("INSERT INTO events VALUES (%d, '')", int64(idAt(e.day(0)))+int64(i)+1)) // nothing waits before it
	}
	end()
	if _, err := e.set(partition.WithRetain(3), partition.WithAhead(5)).Maintain(e.limit(), pool); err != nil {
		t.Fatal(err)
	}
	e.want(-3, 5)
	e.must(pool.QueryRow("SELECT @@lock_wait_timeout, CONNECTION_ID()").Scan(&after, &later))
	if before != after || connection != later {
		t.Errorf("lock_wait_timeout is %d on connection %d, want %d on %d", after, later, before, connection)
	}
}

// TestMySQLStatementOfADeadProcessKeepsTheLock cancels a call whose ALTER TABLE waits on the server.
func TestMySQLStatementOfADeadProcessKeepsTheLock(t *testing.T) {
	e := filledMySQL(t)
	end := e.hold("SELECT * FROM events")
	ctx, cancel := context.WithCancel(t.Context())
	dead := make(chan error)
	go func() {
		_, err := e.set(partition.WithAhead(4), partition.WithLockTimeout(time.Minute)).Maintain(ctx, e.DB)
		dead <- err
	}()
	for e.waiting() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	if err := <-dead; !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want %v", err, context.Canceled)
	}
	// Another call would find the catalog as it was, but the statement may still be executed.
	busy, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	steps, err := e.set(partition.WithAhead(5)).Maintain(busy, e.DB)
	if n := e.waiting(); n != 1 || len(steps) > 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v and %d statements that wait, want that of the dead process only", steps, err, n)
	}
	end()
	e.maintain(e.set(partition.WithAhead(5)))
	e.want(-10, 5, "events_first "+idAt(e.day(-10)).String())
}

// waiting returns the number of statements that wait for a table.
func (e mysqlEvents) waiting() int {
	e.Helper()
	n, err := testdb.MetadataLockWaits(e.Context(), e.DB)
	e.must(err)
	return n
}

func TestMySQLProcessesMaintainTogether(t *testing.T) {
	e := filledMySQL(t)
	steps := make(chan []string)
	for range 4 {
		go func() {
			done, err := e.set(partition.WithAhead(6), partition.WithRetain(3)).Maintain(e.limit(), e.DB)
			e.ok(err)
			steps <- kinds(done)
		}()
	}
	total := 0
	for range 4 {
		total += len(<-steps)
	}
	e.want(-3, 6)
	if total != 3+8 {
		t.Errorf("%d steps, want each of 11 once", total)
	}
}
