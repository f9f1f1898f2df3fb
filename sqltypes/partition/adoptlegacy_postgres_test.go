package partition_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// The legacy partition has no lower bound. It is dropped once it is beyond the retention, if the Set says how old its rows
// may be, and if it has no others.
func TestAdoptedPartitionIsDroppedByRetention(t *testing.T) {
	for name, test := range map[string]struct {
		extra   snowflake.ID // a key beside those of the days -40 to -30
		start   bool         // WithStart of day -40
		dropped bool
	}{
		"with its start":               {start: true, dropped: true},
		"without a start":              {},
		"with a row before the start":  {start: true, extra: idAt(day(-41))},
		"with a row that is no ID":     {start: true, extra: 5},
		"with a row of a negative key": {start: true, extra: -5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := onPostgres(t, ordinaryTable)
			a.insert(day(-40), day(-30), 24*time.Hour)
			if test.extra != 0 {
				a.exec(fmt.Sprintf("INSERT INTO events VALUES (%d)", test.extra))
			}
			options := []partition.Option{partition.WithRetain(5), partition.WithIdle(5)}
			if test.start {
				options = append(options, partition.WithStart(day(-40)))
			}
			set := a.newSet(partition.Day, options...)
			a.adopt(set)
			a.does(set)
			// As if it had been adopted twenty days ago.
			a.exec(fmt.Sprintf(`ALTER TABLE events DETACH PARTITION events_legacy;
ALTER TABLE events ATTACH PARTITION events_legacy FOR VALUES FROM (MINVALUE) TO ('%d');
`, idAt(day(-20))))
			a.maintain(a.newSet(partition.Day))
			a.exec(fmt.Sprintf("INSERT INTO events VALUES (%d)", idAt(time.Now())))
			steps, err := set.Maintain(t.Context(), a.DB)
			dropped := slices.Contains(kinds(steps), "drop events_legacy")
			if dropped != test.dropped || (err == nil) != test.dropped || err != nil && !errors.Is(err, partition.ErrBlocked) {
				t.Errorf("dropped %v, %v; want %v, and otherwise ErrBlocked", dropped, err, test.dropped)
			}
		})
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
