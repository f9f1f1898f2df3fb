package partition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// The step to a table of WithKeep goes on after a process that ended after any of its statements.
func TestMySQLDetachGoesOnAfterEachOfItsStatements(t *testing.T) {
	t.Parallel()
	var statements []string
	for n := 1; n == 1 || n <= len(statements); n++ {
		e := filledMariaDB(t)
		s := e.set(partition.WithRetain(9), partition.WithKeep(keepAsOld))
		plan, err := s.Plan(t.Context(), e.DB)
		if err != nil || len(plan.Steps) != 1 {
			t.Fatalf("%v, %v", plan, err)
		}
		statements = plan.Steps[0].SQL
		e.stopAfter(statements[:n])
		steps := e.maintain(s)
		e.want(-9, 3)
		if len(steps) != min(1, len(statements)-n) {
			t.Errorf("after %q: %v", statements[n-1], steps)
		}
		e.kept()
	}
}

// kept checks that the oldest day has become a table of WithKeep, without a mark.
func (e *events) kept() {
	e.Helper()
	e.same(e.loose(), "old_"+dayName(-10))
	e.rows("old_"+dayName(-10), 4)
	if comment := e.comment("old_" + dayName(-10)); comment != "" {
		e.Errorf("the comment is %q", comment)
	}
}

// stopAfter executes statements on a connection that then ends.
func (e *events) stopAfter(statements []string) {
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

// stopBefore ends a process that detaches the oldest partition before the statement with the word.
func (e *events) stopBefore(s *partition.Set, word string) {
	e.Helper()
	plan, err := s.Plan(e.Context(), e.DB)
	e.must(err)
	at := slices.IndexFunc(plan.Steps[0].SQL, func(statement string) bool { return strings.Contains(statement, word) })
	e.stopAfter(plan.Steps[0].SQL[:at])
}

const afterExchange = " DROP PARTITION "

func TestMySQLRowsThatComeBetweenAreNotLost(t *testing.T) {
	for _, option := range []partition.Option{partition.WithKeep(keepAsOld), partition.WithAhead(3)} {
		e := filledMariaDB(t)
		keep := e.set(partition.WithRetain(9), partition.WithKeep(keepAsOld))
		e.stopBefore(keep, afterExchange)
		e.exec(fmt.Sprintf("INSERT INTO events VALUES (%d, 'late')", idAt(day(-10))+1))
		e.blocked(e.set(partition.WithRetain(9), option), dayName(-10))
		e.rows("events", 10*4+1)
		e.rows(dayName(-10), 4)
		e.exec("INSERT INTO " + dayName(-10) + " SELECT * FROM events PARTITION (" + dayName(-10) + ")")
		e.exec("ALTER TABLE events TRUNCATE PARTITION " + dayName(-10))
		e.maintain(keep)
		e.want(-9, 3)
		e.rows("old_"+dayName(-10), 5)
	}
}

// A plan does not see the rows of a transaction that is committed while the step waits for the table.
func TestRowsThatComeAfterThePlanAreNotLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		day        int
		option     partition.Option
		stopBefore string
	}{
		"postgres":           {-13, partition.WithAhead(3), ""},
		"foreign row":        {-13, partition.WithAhead(3), ""},
		"foreign row, kept":  {-13, partition.WithKeep(keepAsOld), ""},
		"row of a partition": {-10, partition.WithKeep(keepAsOld), afterExchange},
		"row of its twin":    {-10, partition.WithKeep(keepAsOld), " EXCHANGE "},
	} {
		t.Run(name, func(t *testing.T) {
			var e *events
			table := "events"
			if name == "postgres" {
				e = filledPostgres(t)
				e.oldest()
			} else {
				e = filledMariaDB(t)
			}
			s := e.set(partition.WithRetain(9), c.option, partition.WithLockTimeout(time.Minute))
			if c.stopBefore != "" {
				e.stopBefore(s, c.stopBefore)
			}
			if name == "row of its twin" {
				table = dayName(-10)
			}
			end := e.hold(fmt.Sprintf("INSERT INTO %s VALUES (%d, 'late')", table, idAt(day(c.day))+1))
			done := e.maintaining(s)
			e.waitForALock()
			end()
			e.is(<-done, partition.ErrBlocked)
			e.rows(table+" WHERE body = 'late'", 1)
		})
	}
}

func TestMySQLOptionsThatChangeBetweenTheStatements(t *testing.T) {
	e := filledMariaDB(t)
	e.stopBefore(e.set(partition.WithRetain(9), partition.WithKeep(keepAsOld)), afterExchange)
	// The rows are retained again, so somebody has to put them back.
	e.blocked(e.set(partition.WithRetain(10)), "the table "+dayName(-10))
	// Now they are to be dropped.
	e.maintain(e.set(partition.WithRetain(9)))
	e.want(-9, 3)
	e.same(e.loose())
}

func TestMySQLOnlyMarkedTablesAreDropped(t *testing.T) {
	e := filledMariaDB(t)
	marks := []string{
		"", "sqlflake: detached from", `sqlflake: detached from "other.events", keys 0 to 5`,
		`sqlflake: detached from "events", keys 0 to 5`, `see sqlflake: detached from "x", keys 0 to 5`,
	}
	for i, mark := range marks {
		e.exec(fmt.Sprintf("CREATE TABLE events_%d (id bigint PRIMARY KEY) COMMENT '%s'", i, mark))
	}
	e.maintain(e.set(partition.WithRetain(9)))
	e.same(e.loose(), "events_0", "events_1", "events_2", "events_3", "events_4")
}

// A call ended before the exchange, and a column was added since.
func TestMySQLAlteredTableNeedsNewTables(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"COMMENT = ", " EXCHANGE "} {
		e := filledMariaDB(t)
		s := e.set(partition.WithRetain(9), partition.WithKeep(keepAsOld))
		e.stopBefore(s, before)
		e.exec("ALTER TABLE events ADD COLUMN size int, FORCE")
		e.does(s, "rename "+dayName(-10))
		e.want(-9, 3)
		e.kept()
	}
}

// MySQL exchanges no partition of a table after a column was added by INSTANT.
func TestMySQLInstantColumn(t *testing.T) {
	e := filledMariaDB(t)
	e.exec("ALTER TABLE events ADD COLUMN size int DEFAULT 7")
	s := e.set(partition.WithRetain(9), partition.WithKeep(keepAsOld))
	if e.target.IsMySQL() {
		for range 2 {
			steps, err := s.Maintain(e.limit(), e.DB)
			e.is(err, nil, "ALTER TABLE "+e.quoted("events")+" FORCE")
			e.same(kinds(steps))
			e.same(e.loose())
		}
		e.exec("ALTER TABLE events FORCE")
	}
	e.maintain(s)
	e.want(-9, 3)
	e.kept()
	e.exec("ALTER TABLE events ADD COLUMN weight int DEFAULT 8, ALGORITHM = INPLACE")
	e.maintain(e.set(partition.WithRetain(8), partition.WithKeep(keepAsOld)))
	e.want(-8, 3)
}
