package partition_test

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

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
