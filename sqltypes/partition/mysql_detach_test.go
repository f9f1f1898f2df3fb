package partition_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

func keepAsOld(table string) string { return "old_" + table }

// rowsOf returns a query for the number of rows in a table.
func rowsOf(table string) string { return "SELECT COUNT(*) FROM `" + table + "`" }

func (e mysqlEvents) rowsOf(table string) int {
	e.Helper()
	return e.count(rowsOf(table))
}

func TestMySQLKeepRenames(t *testing.T) {
	e := filledMySQL(t)
	other := e.texts("SELECT DATABASE()")[0] + "_x"
	e.exec("CREATE DATABASE " + other)
	t.Cleanup(func() {
		if _, err := e.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE "+other); err != nil {
			t.Error(err)
		}
	})
	s := e.set(partition.WithRetain(7), partition.WithKeep(func(table string) string {
		switch table {
		case e.partition(-9):
			return other + ".kept"
		case e.partition(-8):
			return table
		}
		return "old_" + table
	}))
	steps := e.maintain(s)
	e.same(steps, "rename events_first", "rename "+e.partition(-10), "rename "+e.partition(-9), "rename "+e.partition(-8))
	e.want(-7, 3)
	comment := `: of "users" \ 'all'`
	wantTables := []string{"events" + comment, e.partition(-8) + comment, "old_" + e.partition(-10) + comment, "old_events_first" + comment}
	slices.Sort(wantTables)
	e.same(e.tables(), wantTables...)
	for _, table := range []string{"old_" + e.partition(-10), e.partition(-8)} {
		e.counts(4, rowsOf(table))
	}
	e.counts(4, "SELECT COUNT(*) FROM "+other+".kept")
	e.does(s)
}

func TestMySQLKeepRefusesNamesOfOtherTables(t *testing.T) {
	e := newMySQL(t, mysqlTable)
	e.fill()
	e.exec("CREATE TABLE old_events_first (n int)")
	e.exec("CREATE TABLE " + e.partition(-10) + " (n int)")
	before := e.tables()
	for _, name := range []func(string) string{keepAsOld, func(string) string { return "" }, func(string) string { return strings.Repeat("x", 65) }} {
		steps, err := e.set(partition.WithRetain(9), partition.WithKeep(name)).Maintain(e.limit(), e.DB)
		if !errors.Is(err, partition.ErrOption) || len(steps) > 0 {
			t.Errorf("%v, %v, want %v", steps, err, partition.ErrOption)
		}
	}
	e.same(e.tables(), before...)
	e.want(-10, 3, "events_first "+idAt(e.day(-10)).String())
}

func TestMySQLArchiveDropsOnlyWhatIsArchived(t *testing.T) {
	e := newMySQL(t, mysqlTable)
	e.fill()
	broken := errors.New("no space")
	archived := make(map[string]int)
	fail := true
	s := e.set(partition.WithRetain(8), partition.WithArchive(func(ctx context.Context, table string) error {
		if fail && strings.HasSuffix(table, "`"+e.partition(-9)+"`") {
			return broken
		}
		archived[table] = e.count("SELECT COUNT(*) FROM " + table)
		return nil
	}))
	e.fails(s, broken)
	e.want(-8, 3)
	if n := e.rowsOf(e.partition(-9)); n != 4 || len(e.tables()) != 2 {
		t.Errorf("%d rows in the table that is not archived, want 4; the tables are %q", n, e.tables())
	}
	fail = false
	e.maintain(s)
	database := e.texts("SELECT DATABASE()")[0]
	for table, rows := range map[string]int{"events_first": 0, e.partition(-10): 4, e.partition(-9): 4} {
		if got, ok := archived["`"+database+"`.`"+table+"`"]; got != rows || !ok {
			t.Errorf("%d rows of %s were archived, want %d", got, table, rows)
		}
	}
	e.tableCount(e.tables(), 1)
}

func TestMySQLSetWithoutArchiveDropsNothingThatIsToBeArchived(t *testing.T) {
	e := filledMySQL(t)
	e.archiveBeside(e.set)
	// A process has ended after it had made the table for the rows, and before these were in it.
	s := e.set(partition.WithRetain(2), partition.WithArchive(func(context.Context, string) error { return nil }))
	plan, err := s.Plan(e.limit(), e.DB)
	if err != nil || len(plan.Steps) != 1 {
		t.Fatalf("%v, %v", plan, err)
	}
	e.stopAfter(plan.Steps[0].SQL[:3])
	e.blocked(e.set(partition.WithRetain(2)), "another Set is to archive it")
}

// TestMySQLDetachGoesOnAfterEachOfItsStatements is about a process that ends after any statement.
func TestMySQLDetachGoesOnAfterEachOfItsStatements(t *testing.T) {
	t.Parallel()
	var statements []string
	for n := 1; n == 1 || n <= len(statements); n++ {
		e := newMySQL(t, mysqlTable)
		e.fill()
		e.exec("ALTER TABLE events DROP PARTITION events_first")
		s := e.set(partition.WithRetain(9), partition.WithKeep(keepAsOld))
		plan, err := s.Plan(t.Context(), e.DB)
		if err != nil || len(plan.Steps) != 1 {
			t.Fatalf("%v, %v", plan, err)
		}
		statements = plan.Steps[0].SQL
		e.stopAfter(statements[:n])
		steps := e.maintain(s)
		e.want(-9, 3)
		if len(steps) != min(1, len(statements)-n) || len(e.tables()) != 2 || e.rowsOf("old_"+e.partition(-10)) != 4 {
			t.Errorf("after %q: %v, and the tables are %q", statements[n-1], steps, e.tables())
		}
		if strings.Contains(strings.Join(e.tables(), " "), "sqlflake") {
			t.Errorf("after %q: a mark is left: %q", statements[n-1], e.tables())
		}
	}
}

// stopAfter executes statements on a connection that then ends.
func (e mysqlEvents) stopAfter(statements []string) {
	e.Helper()
	pool := e.target.Open(e.T)
	pool.SetMaxOpenConns(1)
	for _, statement := range statements {
		if _, err := pool.ExecContext(e.Context(), statement); err != nil {
			e.Fatalf("%s: %v", statement, err)
		}
	}
	e.must(pool.Close())
}

// stopBefore ends a process that detaches the partition of the oldest day before the statement with the word.
func (e mysqlEvents) stopBefore(s *partition.Set, word string) {
	e.Helper()
	e.exec("ALTER TABLE events DROP PARTITION events_first")
	plan, err := s.Plan(e.Context(), e.DB)
	e.must(err)
	at := slices.IndexFunc(plan.Steps[0].SQL, func(statement string) bool { return strings.Contains(statement, word) })
	e.stopAfter(plan.Steps[0].SQL[:at])
}

func (e mysqlEvents) stopAfterExchange(s *partition.Set) {
	e.Helper()
	e.stopBefore(s, " DROP PARTITION ")
	if n := e.count("SELECT COUNT(*) FROM events PARTITION (" + e.partition(-10) + ")"); n != 0 {
		e.Fatalf("%d rows after the exchange", n)
	}
}

func TestMySQLRowsThatComeBetweenAreNotLost(t *testing.T) {
	for _, option := range []partition.Option{partition.WithKeep(keepAsOld), partition.WithAhead(3)} {
		e := newMySQL(t, mysqlTable)
		e.fill()
		keep := e.set(partition.WithRetain(9), partition.WithKeep(keepAsOld))
		e.stopAfterExchange(keep)
		e.exec(fmt.Sprintf("INSERT INTO events VALUES (%d, 'late')", idAt(e.day(-10))+1))
		steps, err := e.set(partition.WithRetain(9), option).Maintain(e.limit(), e.DB)
		if !errors.Is(err, partition.ErrBlocked) || !strings.Contains(err.Error(), e.partition(-10)) || len(steps) > 0 {
			t.Fatalf("%v, %v, want %v", steps, err, partition.ErrBlocked)
		}
		if e.rowsOf("events") != 41 || e.rowsOf(e.partition(-10)) != 4 {
			t.Errorf("%d and %d rows, want 41 and 4", e.rowsOf("events"), e.rowsOf(e.partition(-10)))
		}
		e.exec("INSERT INTO " + e.partition(-10) + " SELECT * FROM events PARTITION (" + e.partition(-10) + ")")
		e.exec("ALTER TABLE events TRUNCATE PARTITION " + e.partition(-10))
		e.maintain(keep)
		e.want(-9, 3)
		e.counts(5, rowsOf("old_"+e.partition(-10)))
	}
}

// TestMySQLRowsThatComeAfterThePlanAreNotLost is about rows of a transaction that a plan does not see, and that is committed
// while the step waits for the table.
func TestMySQLRowsThatComeAfterThePlanAreNotLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		day    int
		table  string
		option partition.Option
	}{
		"foreign row":        {-12, "events", partition.WithAhead(3)},
		"foreign row, kept":  {-12, "events", partition.WithKeep(keepAsOld)},
		"row of a partition": {-10, "events", partition.WithKeep(keepAsOld)},
		"row of its twin":    {-10, "twin", partition.WithKeep(keepAsOld)},
	} {
		e := newMySQL(t, mysqlTable)
		e.fill()
		s := e.set(partition.WithRetain(9), c.option, partition.WithLockTimeout(time.Minute))
		switch name {
		case "row of a partition":
			e.stopAfterExchange(s)
		case "row of its twin":
			e.stopBefore(s, " EXCHANGE ")
			c.table = e.partition(-10)
		default:
			e.exec("ALTER TABLE events DROP PARTITION events_first")
		}
		end := e.hold(fmt.Sprintf("INSERT INTO %s VALUES (%d, 'late')", c.table, idAt(e.day(c.day))+1))
		failed := make(chan error)
		go func() {
			_, err := s.Maintain(e.limit(), e.DB)
			failed <- err
		}()
		for e.waiting() == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		end()
		if err := <-failed; !errors.Is(err, partition.ErrBlocked) {
			t.Errorf("%s: %v, want %v", name, err, partition.ErrBlocked)
		}
		e.counts(1, "SELECT COUNT(*) FROM "+c.table+" WHERE body = 'late'")
	}
}

func TestMySQLOptionsThatChangeBetweenTheStatements(t *testing.T) {
	e := filledMySQL(t)
	e.stopAfterExchange(e.set(partition.WithRetain(9), partition.WithKeep(keepAsOld)))
	// The rows are retained again, so somebody has to put them back.
	steps, err := e.set(partition.WithRetain(10)).Maintain(e.limit(), e.DB)
	if !errors.Is(err, partition.ErrBlocked) || !strings.Contains(err.Error(), "the table "+e.partition(-10)) || len(steps) > 0 {
		t.Fatalf("%v, %v, want %v", steps, err, partition.ErrBlocked)
	}
	// Now they are to be dropped.
	e.maintain(e.set(partition.WithRetain(9)))
	e.want(-9, 3)
	e.tableCount(e.tables(), 1)
}

func TestMySQLOnlyMarkedTablesAreDropped(t *testing.T) {
	e := newMySQL(t, mysqlTable)
	e.fill()
	marks := []string{
		"", "sqlflake: detached from", `sqlflake: detached from "other.events", keys 0 to 5`,
		`sqlflake: detached from "events", keys 0 to 5`, `see sqlflake: detached from "x", keys 0 to 5`,
	}
	for i, mark := range marks {
		e.exec(fmt.Sprintf("CREATE TABLE events_%d (id bigint PRIMARY KEY) COMMENT '%s'", i, mark))
	}
	e.maintain(e.set(partition.WithRetain(9)))
	e.tableCount(e.tables(), 1+len(marks))
}

// TestMySQLAlteredTableNeedsNewTables is about calls that ended before the exchange, and a column that was added since.
func TestMySQLAlteredTableNeedsNewTables(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"COMMENT = ", " EXCHANGE "} {
		e := newMySQL(t, mysqlTable)
		e.fill()
		s := e.set(partition.WithRetain(9), partition.WithKeep(keepAsOld))
		e.stopBefore(s, before)
		e.exec("ALTER TABLE events ADD COLUMN size int, FORCE")
		if steps := e.maintain(s); len(steps) != 1 {
			t.Errorf("before %s: %v", before, steps)
		}
		e.want(-9, 3)
		if got := e.tables(); len(got) != 2 || e.rowsOf("old_"+e.partition(-10)) != 4 {
			t.Errorf("before %s: the tables are %q", before, got)
		}
	}
}

// TestMySQLInstantColumn is about MySQL, which exchanges no partition of a table after a column was added by INSTANT.
func TestMySQLInstantColumn(t *testing.T) {
	e := filledMySQL(t)
	e.exec("ALTER TABLE events ADD COLUMN size int DEFAULT 7")
	s := e.set(partition.WithRetain(9), partition.WithKeep(keepAsOld))
	if e.target.IsMySQL() {
		before := e.tables()
		for range 2 {
			steps, err := s.Maintain(e.limit(), e.DB)
			if err == nil || !strings.Contains(err.Error(), "ALTER TABLE "+e.qualified()+" FORCE") || len(steps) > 0 {
				t.Errorf("%v, %v, want what makes it possible again", steps, err)
			}
			e.same(e.tables(), before...)
		}
		e.exec("ALTER TABLE events FORCE")
	}
	e.maintain(s)
	e.want(-9, 3)
	e.counts(4, rowsOf("old_"+e.partition(-10)))
	e.exec("ALTER TABLE events ADD COLUMN weight int DEFAULT 8, ALGORITHM = INPLACE")
	e.maintain(e.set(partition.WithRetain(8), partition.WithKeep(keepAsOld)))
	e.want(-8, 3)
}

// qualified returns the name of the table with its database.
func (e mysqlEvents) qualified() string {
	e.Helper()
	return "`" + e.texts("SELECT DATABASE()")[0] + "`.`events`"
}
