package partition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// The legacy partition has no lower bound. It is dropped once it is beyond the retention, if the Set says how old its rows
// may be, and if it has no others.
func TestAdoptedPartitionIsDroppedByRetention(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, ordinaryTable)
	a.insert(day(-40), day(-30), 24*time.Hour)
	a.exec("INSERT INTO events VALUES (5)")
	without := a.newSet(partition.Day, partition.WithRetain(5), partition.WithIdle(5))
	set := a.newSet(partition.Day, partition.WithRetain(5), partition.WithIdle(5), partition.WithStart(day(-40)))
	a.adopt(set)
	a.does(set)
	// As if it had been adopted twenty days ago.
	a.exec(fmt.Sprintf("ALTER TABLE events DETACH PARTITION events_legacy;\n"+
		"ALTER TABLE events ATTACH PARTITION events_legacy FOR VALUES FROM (MINVALUE) TO ('%d')", idAt(day(-20))))
	a.maintain(a.newSet(partition.Day))
	a.insert(day(0), day(1), 24*time.Hour)
	a.fails(set, partition.ErrBlocked, "events_legacy", "the key 5")
	a.exec("DELETE FROM events WHERE id = 5")
	a.fails(without, partition.ErrBlocked, "events_legacy", "set WithStart")
	if steps := a.maintain(set); !slices.Contains(steps, "drop events_legacy") {
		t.Errorf("the steps are %q", steps)
	}
}

// A table that is created with the options is one that Maintain accepts as it is.
func TestTableOptionsFitMaintain(t *testing.T) {
	for _, options := range [][]partition.Option{nil, {partition.WithStart(day(-9)), partition.WithRetain(3)}} {
		e := onMariaDB(t, "")
		set := e.set(options...)
		text, err := set.TableOptions()
		e.must(err)
		e.exec("CREATE TABLE events (id bigint PRIMARY KEY) " + text)
		e.does(set)
	}
	e := newEvents(t, testdb.Postgres(t), "")
	set := e.set(partition.WithKey("the Key"))
	text, err := set.TableOptions()
	e.must(err)
	e.exec(`CREATE TABLE events ("the Key" bigint PRIMARY KEY) ` + text)
	e.does(set, "create "+dayName(0), "create "+dayName(1), "create "+dayName(2), "create "+dayName(3))
}

// On MySQL the statement of the error, which is the one of TableOptions, partitions a table with rows.
func TestAdoptNamesTheStatementOfMySQL(t *testing.T) {
	e := onMariaDB(t, "CREATE TABLE events (id bigint PRIMARY KEY, body text)")
	e.insert(day(-5), day(1), 24*time.Hour)
	set := e.set(partition.WithStart(day(-2)))
	_, planErr := set.PlanAdopt(t.Context(), e.DB)
	_, err := set.Adopt(t.Context(), e.DB)
	e.is(err, partition.ErrTable, "ALTER TABLE events PARTITION BY RANGE (`id`) (PARTITION `"+dayName(-2)+"` ")
	e.is(planErr, partition.ErrTable, err.Error())
	_, statement, _ := strings.Cut(err.Error(), "meanwhile: ")
	e.exec(statement)
	e.rows("events PARTITION ("+dayName(-2)+")", 4)
	e.does(set)
}
