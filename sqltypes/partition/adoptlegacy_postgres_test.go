package partition_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
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

// The legacy partition is split by way of a default partition, whose rows are not read while the table is locked.
func TestAdoptedPartitionIsSplit(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, ordinaryTable)
	a.insert(day(-10), day(1), 6*time.Hour)
	set := a.newSet(partition.Day, partition.WithRetain(5))
	plan, err := set.PlanAdopt(t.Context(), a.DB)
	if dropped := "Maintain drops it as a whole, not before " + day(2+5).Format(time.DateOnly) + " 01:00"; err != nil || !strings.Contains(plan.String(), dropped) {
		t.Errorf("%v, %v, want %q", plan, err, dropped)
	}
	a.adopt(set)
	a.exec(fmt.Sprintf(`ALTER TABLE events_legacy ADD CONSTRAINT cut CHECK (id IS NOT NULL AND id < %d) NOT VALID;
ALTER TABLE events_legacy VALIDATE CONSTRAINT cut;
BEGIN; ALTER TABLE events DETACH PARTITION events_legacy; ALTER TABLE events ATTACH PARTITION events_legacy DEFAULT; COMMIT;
`, idAt(day(2))))
	if moved, err := set.MoveDefault(t.Context(), a.DB, 3); moved != 6*4 || !errors.Is(err, partition.ErrBlocked) {
		t.Errorf("%d rows moved, %v, want those of six days, and a problem about older ones", moved, err)
	}
	a.counts(5*4, "SELECT count(*) FROM events_legacy WHERE id < $1", idAt(day(-5)))
	a.exec("ALTER TABLE events DETACH PARTITION events_legacy;\nDROP TABLE events_legacy;\n")
	if steps, err := a.newSet(partition.Day, partition.WithRetain(4)).Maintain(t.Context(), a.DB); err != nil || len(steps) != 3 {
		t.Errorf("%v, %v, want tomorrow created and the two pieces of the oldest day dropped", kinds(steps), err)
	}
	a.counts(5*4, "SELECT count(*) FROM events")
}
